# shellcheck shell=bash
# The libraries built by clang 14 or newer, and those of their own tests that run the locks.

CLANG=$BUILD/clang

# clang_tests: may be a condition, where `set -e` has no effect.
clang_tests() {
  local targets=(liblockswap.so liblockswap-audit.so liblockswap-fuzz.so lockswap_api lockswap_structures unit_tests
    mutex_stress_tsan lost_wakeup tests/conformance/all)
  command -v clang++ >/dev/null || { say 'skipping clang, which is not installed' && return 0; }
  quietly cmake-clang cmake -S "$ROOT" -B "$CLANG" -G Ninja -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
    -DLOCKSWAP_TESTS=ON || return 1
  cmake --build "$CLANG" -j "$JOBS" --target "${targets[@]}" || return 1
  run_ctest clang -LE '^full$' -R '^(unit/parts|unit/mutex_stress_tsan|conformance/)'
}
