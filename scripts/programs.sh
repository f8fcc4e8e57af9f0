# shellcheck shell=bash
# The programs of tests/programs are Debian's; which packages each needs is said there. Servers are not installed, since
# they would start with every boot, but unpacked below build/programs. Cases whose packages the distribution lacks are
# skipped: build/programs/absent names these packages.
# shellcheck disable=SC2034 # the groups are read by name

# get_programs [--full]: for the quick cases; with --full for all.
get_programs() {
  local set sets=(quick) absent=("${LEFT_OUT[@]}")
  [[ -z ${1:-} ]] || sets+=(full)
  for set in "${sets[@]}"; do get_program_set "$set"; done
  mkdir -p "$BUILD/programs"
  printf '%s\n' "${absent[@]}" >"$BUILD/programs/absent"
  if [[ ${#absent[@]} -gt 0 ]]; then say "skipping the cases that need what can't be installed here: ${absent[*]}"; fi
  [[ -z ${1:-} ]] || get_duckdb
}

# get_program_set quick|full: adds to `absent` what is not to be had.
get_program_set() {
  local set=$1 programs=("$PYTHON" "$ROOT/tests/programs/programs.py") names line missing servers=()
  names=$("${programs[@]}" packages "--$set")
  mapfile -t PACKAGES_programs <<<"$names"
  need_packages programs
  # shellcheck disable=SC2153 # of packages.sh
  read -r -a missing <<<"${MISSING[programs]}"
  absent+=("${missing[@]}")
  names=$("${programs[@]}" unpacked "--$set")
  while read -r line; do
    if first_known "$line"; then servers+=("$REPLY"); else absent+=("$line"); fi
  done <<<"$names"
  [[ ${#servers[@]} -gt 0 ]] || return 0
  LOCKSWAP_BUILD=$BUILD LOCKSWAP_APPS=$BUILD/apps quietly "unpack-$set" \
    bash "$ROOT/tests/programs/unpack.sh" "$BUILD/programs/$set" "${servers[@]}"
}

# A database that Debian doesn't have; of PyPI, in a folder of its own.
get_duckdb() {
  local folder=$BUILD/programs/duckdb
  [[ ! -d $folder ]] || return 0
  rm -rf "$folder.part"
  quietly duckdb "$BUILD/venv/bin/pip" install --disable-pip-version-check --target "$folder.part" duckdb==2.0.0
  mv "$folder.part" "$folder"
}
