# shellcheck shell=bash
# The programs that we did not write: Debian's packages and what apps/fetch/ builds from Debian's sources.

# get_workloads: all but those that are only compared when asked for by name (the harness gets them then): campaigns
# that take long, and servers, whose packages not everybody wants.
get_workloads() {
  need_packages workloads
  local script
  if ! command -v apt-get >/dev/null; then
    say "no apt-get: the programs that Debian's packages and sources give the campaign are left out"
    return
  fi
  for script in "$ROOT"/apps/fetch/*.sh; do
    grep -q '^# campaign: by name$' "$script" && continue
    LOCKSWAP_ROOT=$ROOT LOCKSWAP_BUILD=$BUILD LOCKSWAP_APPS=$BUILD/apps \
      quietly "fetch-$(basename "$script" .sh)" bash "$script"
  done
}
