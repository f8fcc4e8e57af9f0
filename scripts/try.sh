# shellcheck shell=bash
# The loop of seconds: one lock, built by itself, explored quickly, stressed, and held to its contract.

# try_lock LOCK
try_lock() {
  # What is configured has its packages, so an edit waits for nothing but its own build.
  if [[ ! -e $BUILD/build.ninja ]]; then
    need_packages "${BUILD_GROUPS[@]}"
    must_have compiler python benchmarks gtest
    configure
  fi
  "$PYTHON" "$ROOT/tests/try/try_lock.py" "$BUILD" "$1"
}
