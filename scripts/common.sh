# shellcheck shell=bash
# What every part of run.sh uses. Sourced, never run.

ROOT=$PWD
BUILD=$ROOT/build
LOGS=$BUILD/log

# Git refuses to look at another user's checkout, but whoever runs these scripts trusts the tree.
n=${GIT_CONFIG_COUNT:-0}
export "GIT_CONFIG_KEY_$n=safe.directory" "GIT_CONFIG_VALUE_$n=*" GIT_CONFIG_COUNT=$((n + 1))
unset n

say() { printf '== %s\n' "$*"; }

# The user's mistake, or a machine that cannot do what is asked: one line, status 2.
die() {
  printf 'run.sh: %s\n' "$*" >&2
  exit 2
}

# quietly NAME COMMAND...: the output goes to build/log/NAME.log and is shown only when the command fails.
quietly() {
  local log=$LOGS/$1.log status=0
  shift
  mkdir -p "$LOGS"
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if [[ $status -ne 0 ]]; then
    tail -n 40 "$log" >&2
    printf 'run.sh: failed (status %d): %s\nrun.sh: the whole output is in %s\n' \
      "$status" "$*" "${log#"$ROOT"/}" >&2
    return 1
  fi
}
