# shellcheck shell=bash
# The programs that we did not write: Debian's packages and what apps/fetch/ builds from Debian's sources.

# get_workloads [NAME...]: what these scripts of apps/fetch/ get. Without names all but those that are only compared
# when asked for by name (the harness gets them then): campaigns that take long, and servers, whose packages not
# everybody wants.
# What can't be had is said and noted in LEFT_OUT, and what needs it is left out.
LEFT_OUT=()
get_workloads() {
  local script name names=("$@")
  need_packages workloads
  if ! command -v apt-get >/dev/null; then
    say "skipping the workloads whose programs come from Debian, since apt-get is not installed"
    return
  fi
  if [[ $# -eq 0 ]]; then
    for script in "$ROOT"/apps/fetch/*.sh; do
      grep -q '^# campaign: by name$' "$script" || names+=("$(basename "$script" .sh)")
    done
  fi
  for name in "${names[@]}"; do
    script=$ROOT/apps/fetch/$name.sh
    if ! LOCKSWAP_ROOT=$ROOT LOCKSWAP_BUILD=$BUILD LOCKSWAP_APPS=$BUILD/apps quietly "fetch-$name" bash "$script"; then
      say "skipping the workloads that need $name, which can't be fetched or built"
      LEFT_OUT+=("fetch:$name")
    fi
  done
}
