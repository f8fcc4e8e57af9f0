# shellcheck shell=bash
# The programs of tests/programs are Debian's; which packages each needs is said there. Servers are not installed, since
# they would start with every boot, but unpacked below build/programs.
# shellcheck disable=SC2034 # the groups are read by name

# get_programs [--full]: for the quick cases; with --full for all.
get_programs() {
  local programs=("$PYTHON" "$ROOT/tests/programs/programs.py") set sets=(quick) names servers
  [[ -z ${1:-} ]] || sets+=(full)
  for set in "${sets[@]}"; do
    names=$("${programs[@]}" packages "--$set")
    mapfile -t PACKAGES_programs <<<"$names"
    need_packages programs
    names=$("${programs[@]}" unpacked "--$set")
    mapfile -t servers <<<"$names"
    LOCKSWAP_BUILD=$BUILD LOCKSWAP_APPS=$BUILD/apps quietly "unpack-$set" \
      bash "$ROOT/tests/programs/unpack.sh" "$BUILD/programs/$set" "${servers[@]}"
  done
  [[ -z ${1:-} ]] || get_duckdb
}

# A database that Debian doesn't have; of PyPI, in a folder of its own.
get_duckdb() {
  local folder=$BUILD/programs/duckdb
  [[ ! -d $folder ]] || return 0
  rm -rf "$folder.part"
  quietly duckdb "$BUILD/venv/bin/pip" install --disable-pip-version-check --target "$folder.part" duckdb==2.0.0
  mv "$folder.part" "$folder"
}
