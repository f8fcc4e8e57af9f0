# shellcheck shell=bash
# The programs that we did not write: Debian's packages and what apps/fetch/ builds from Debian's sources.

# get_workloads: all but those that are only compared when asked for by name (the harness gets them then): campaigns
# that take long, and servers, whose packages not everybody wants.
# What can't be had is said and noted in LEFT_OUT, and what needs it is left out.
LEFT_OUT=()
get_workloads() {
  need_packages workloads
  local script name
  if ! command -v apt-get >/dev/null; then
    say "no apt-get: the programs that Debian's packages and sources give the campaign are left out"
    return
  fi
  for script in "$ROOT"/apps/fetch/*.sh; do
    grep -q '^# campaign: by name$' "$script" && continue
    name=$(basename "$script" .sh)
    if ! LOCKSWAP_ROOT=$ROOT LOCKSWAP_BUILD=$BUILD LOCKSWAP_APPS=$BUILD/apps quietly "fetch-$name" bash "$script"; then
      say "$name can't be fetched or built: what needs it is left out"
      LEFT_OUT+=("fetch:$name")
    fi
  done
}
