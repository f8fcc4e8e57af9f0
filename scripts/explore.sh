# shellcheck shell=bash
# Exploration on all processors, of this machine or of a Dask cluster.

# explore_all [--scheduler ADDRESS] [--slices N] [-- WORDS...]: the cases that `lockswap-explore run WORDS` explores.
explore_all() {
  local options=()
  while [[ $# -gt 0 && $1 != -- ]]; do
    [[ $1 =~ ^--(scheduler|slices)$ && $# -ge 2 ]] || die "unknown argument '$1' (see ./run.sh help)"
    options+=("$1" "$2")
    shift 2
  done
  build_targets lockswap-explore lockswap-meter
  "$BUILD/venv/bin/python" tests/explore/sweep.py "${options[@]}" "$BUILD" "$@"
}
