# shellcheck shell=bash
# The tests of the aarch64 build: cross-compiled, and run under qemu's user-mode emulation with the libc of two Debian
# releases. tests/aarch64/README.md says what that shows.

AARCH64=$BUILD/aarch64
AARCH64_SUITES=(bookworm trixie) # glibc 2.36 and 2.41

# The emulator is Debian 13's, statically linked. That of Debian 12 grants MADV_WIPEONFORK and then doesn't do it, so
# children would take their parent's locks for their own.
get_aarch64() {
  need_packages compiler aarch64
  must_have compiler aarch64
  unpack_debian trixie "$(dpkg --print-architecture)" "$AARCH64/emulator" qemu-user || return 1
  local libraries=(libc6 libgcc-s1 libstdc++6 libjemalloc2)
  unpack_debian bookworm arm64 "$AARCH64/bookworm" "${libraries[@]}" libmimalloc2.0 libtcmalloc-minimal4 \
    systemtap-sdt-dev || return 1
  unpack_debian trixie arm64 "$AARCH64/trixie" "${libraries[@]}" libmimalloc3 libtcmalloc-minimal4t64
}

# build_aarch64: the libraries, and the programs of tests/unit, tests/conformance and tests/life.
build_aarch64() {
  export TESTS_EMULATOR=$AARCH64/emulator/usr/bin/qemu-aarch64
  local cross=(-G Ninja "-DCMAKE_TOOLCHAIN_FILE=$ROOT/tests/aarch64/toolchain.cmake" -DCMAKE_BUILD_TYPE=Release)
  # Debian's libgtest-dev is for this machine; its source is not.
  if [[ ! -e $AARCH64/googletest/lib/libgtest.a ]]; then
    quietly cmake-aarch64-googletest cmake -S /usr/src/googletest -B "$AARCH64/googletest-build" "${cross[@]}" \
      -DBUILD_GMOCK=OFF "-DCMAKE_INSTALL_PREFIX=$AARCH64/googletest" || return 1
    quietly aarch64-googletest cmake --build "$AARCH64/googletest-build" -j "$JOBS" --target install || return 1
  fi
  quietly cmake-aarch64 cmake -S "$ROOT" -B "$AARCH64/tree" "${cross[@]}" "-DCMAKE_PREFIX_PATH=$AARCH64/googletest" -DLOCKSWAP_TESTS=ON \
    "-DCMAKE_CXX_FLAGS=-idirafter $AARCH64/bookworm/usr/include/aarch64-linux-gnu" || return 1 # static probes
  cmake --build "$AARCH64/tree" -j "$JOBS" --target all tests
}

# aarch64_tests: what is emitted, then what is run. May be a condition, where `set -e` has no effect.
aarch64_tests() {
  get_aarch64 || return 1
  say 'aarch64: building'
  build_aarch64 || return 1
  say 'aarch64: the instructions that orders claim'
  "$PYTHON" "$ROOT/tests/aarch64/emitted.py" "$AARCH64/tree/liblockswap.so" || return 1
  "$PYTHON" "$ROOT/tests/aarch64/planted.py" "$AARCH64/tree" || return 1
  say "aarch64: emulated, with the libc of ${AARCH64_SUITES[*]}"
  "$PYTHON" "$ROOT/tests/aarch64/run.py" "$AARCH64/tree" "$JOBS" "${AARCH64_SUITES[@]/#/$AARCH64/}"
}
