# shellcheck shell=bash
# The programs that we did not write: Debian's packages and what apps/fetch/ builds from Debian's sources.

# get_workloads: all but those of the long campaigns, which the harness gets when they are asked for by name.
get_workloads() {
  need_packages workloads
  local script
  for script in "$ROOT"/apps/fetch/*.sh; do
    grep -q '^# campaign: long$' "$script" && continue
    LOCKSWAP_ROOT=$ROOT LOCKSWAP_BUILD=$BUILD LOCKSWAP_APPS=$BUILD/apps \
      quietly "fetch-$(basename "$script" .sh)" bash "$script"
  done
}
