# shellcheck shell=bash
# The build tree: the Python environment, our programs, the launcher.

# The first python3 on PATH may be a version manager's shim; Debian's own is the one with Debian's venv module.
PYTHON=/usr/bin/python3
JOBS=$(nproc)

# make_venv: build/venv with the harness's pinned packages and the harness itself; it is made anew when the pins or the
# place change.
make_venv() {
  local venv=$BUILD/venv pins=("$ROOT"/harness/requirements*.txt) stamp args=() file
  stamp=$({ cat "${pins[@]}"; "$PYTHON" --version; echo "$venv"; } | sha256sum)
  [[ -x $venv/bin/python && $(cat "$venv/lockswap-pins" 2>/dev/null) == "$stamp" ]] && return 0
  say "setting up build/venv"
  for file in "${pins[@]}"; do args+=(-r "$file"); done
  quietly venv "$PYTHON" -m venv --clear "$venv"
  quietly pip "$venv/bin/pip" install --disable-pip-version-check "${args[@]}"
  echo "$ROOT/harness" >"$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/lockswap.pth"
  echo "$stamp" >"$venv/lockswap-pins"
}

# configure: without the benchmarks, or the tests, if what they need is missing.
configure() {
  local apps=ON tests=ON
  if lacks benchmarks; then apps=OFF; fi
  if lacks benchmarks || lacks gtest; then tests=OFF; fi
  quietly cmake cmake -S "$ROOT" -B "$BUILD" -G Ninja \
    -DLOCKSWAP_APPS=$apps -DLOCKSWAP_HARNESS=ON -DLOCKSWAP_TESTS=$tests
}

# build_all [TARGET]: what a user runs; with the target `tests` also what only the tests run, with `tests_full` also
# what only the full set of them runs.
build_all() { build_targets all "$@"; }

# build_targets TARGET...: these, and the launcher.
build_targets() {
  need_packages "${BUILD_GROUPS[@]}"
  must_have compiler python
  local venv status=0
  # Nothing that is compiled needs it, and pip mostly waits for the network and the disk.
  make_venv &
  venv=$!
  say "building"
  { configure && cmake --build "$BUILD" -j "$JOBS" --target "$@"; } || status=$?
  wait "$venv" || status=$?
  [[ $status -eq 0 ]] || return "$status"
  install -D -m 755 "$ROOT/scripts/lockswap" "$BUILD/bin/lockswap"
}
