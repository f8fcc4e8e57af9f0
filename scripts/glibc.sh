# shellcheck shell=bash
# Other glibcs than the system's, and the library as another Debian builds it, for tests/glibc. Everything comes from
# Debian's archive and stays in build/glibc; nothing is installed.

GLIBC_SUITES=(trixie sid)   # 2.41, and 2.43 or newer
GLIBC_OLDEST_SUITE=bullseye # 2.31, the oldest that we name
GLIBC_BUILD_SUITE=trixie    # whose compiler and glibc make the other build
GLIBC_LIBRARIES=(liblockswap.so liblockswap-audit.so liblockswap-fuzz.so)

# get_glibc SUITE: build/glibc/SUITE/libc6, and its version beside it.
get_glibc() {
  local suite=$1 folder=$BUILD/glibc/$1
  if ! unpack_debian "$suite" "$(dpkg --print-architecture)" "$folder/libc6" libc6; then
    rm -f "$folder/version"
    say "skipping the glibc of $suite, which $(archive_uri) doesn't have"
    return 0
  fi
  dpkg-deb -f "$folder"/libc6.apt/archives/libc6_*.deb Version | sed -E 's/^([0-9]+\.[0-9]+).*/\1/' >"$folder/version"
}

# make_root SUITE NAME PACKAGES: a small Debian in build/glibc/NAME/root, once.
make_root() {
  local suite=$1 folder=$BUILD/glibc/$2
  [[ -e $folder/made ]] && return 0
  if [[ $EUID -ne 0 ]]; then
    say "skipping a system of $suite, which only root can create"
    return 1
  fi
  if ! command -v debootstrap >/dev/null; then
    say "skipping a system of $suite, since debootstrap is not installed"
    return 1
  fi
  rm -rf --one-file-system "$folder/root"
  mkdir -p "$folder"
  if ! quietly "root-$suite" debootstrap --variant=minbase --include="$3" "$suite" "$folder/root" "$(archive_uri)"; then
    say "skipping a system of $suite, which $(archive_uri) doesn't have"
    return 1
  fi
  touch "$folder/made"
}

# in_root NAME COMMAND...: in that system, with this one's devices, and this checkout at /mnt. Variables stay here: they
# may name a compiler that isn't installed there.
in_root() {
  # shellcheck disable=SC2016,SC2153 # expanded inside; ROOT is common.sh's
  unshare --mount --pid --fork bash -c 'mount --bind /dev "$0/dev" && mount -t proc proc "$0/proc" &&
    mount --bind "$1" "$0/mnt" && exec chroot "$0" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "${@:2}"' \
    "$BUILD/glibc/$1/root" "$ROOT" "${@:2}"
}

# get_debian13_build: the preload libraries as Debian 13 builds them, in build/glibc/debian13.
get_debian13_build() {
  local folder=$BUILD/glibc/debian13 library
  rm -f "$folder"/*.so
  make_root "$GLIBC_BUILD_SUITE" debian13 g++,cmake,ninja-build || return 0
  say "building the libraries on Debian 13"
  quietly debian13-configure in_root debian13 cmake -G Ninja -S /mnt -B /build -DLOCKSWAP_APPS=OFF || return 1
  quietly debian13-build in_root debian13 ninja -C /build -j "$JOBS" "${GLIBC_LIBRARIES[@]}" || return 1
  for library in "${GLIBC_LIBRARIES[@]}"; do cp "$folder/root/build/$library" "$folder/$library"; done
}

# on_oldest NAME FOLDER: the libraries in FOLDER on the oldest glibc that we name.
on_oldest() {
  local libraries=$BUILD/glibc/oldest/root/libraries library
  mkdir -p "$libraries"
  for library in "${GLIBC_LIBRARIES[@]}"; do cp "$2/$library" "$libraries/"; done
  "$BUILD/bin/lockswap-registry" | "$BUILD/venv/bin/python" -c '
import json, sys
print(*(row["name"] for row in json.load(sys.stdin)["mutexes"] if row["name"] != "pthread"))' >"$libraries/mutexes"
  say "$1 on the glibc of $GLIBC_OLDEST_SUITE"
  in_root oldest python3 /mnt/tests/glibc/oldest.py /libraries
}

# test_glibc --quick | ''
test_glibc() {
  local quick=$1 suite failed=0
  if ! command -v apt-get >/dev/null; then
    say "skipping other glibcs, which come from Debian's archive by apt-get, which is not installed"
    return 0
  fi
  for suite in "${GLIBC_SUITES[@]}"; do get_glibc "$suite"; done
  if [[ -z $quick ]]; then get_debian13_build || failed=1; fi
  "$BUILD/venv/bin/python" tests/glibc/matrix.py "$BUILD" ${quick:+"$quick"} || failed=1
  if [[ -z $quick ]] && make_root "$GLIBC_OLDEST_SUITE" oldest g++,python3; then
    on_oldest 'this build' "$BUILD" || failed=1
    if [[ -e $BUILD/glibc/debian13/liblockswap.so ]]; then
      on_oldest 'the build of Debian 13' "$BUILD/glibc/debian13" || failed=1
    fi
  fi
  return "$failed"
}

# run_glibc_tests: that alone, with all that it needs.
run_glibc_tests() {
  need_packages "${BUILD_GROUPS[@]}" tests workloads glibc
  must_have compiler python benchmarks gtest
  build_all tests
  get_workloads
  get_programs
  test_glibc ''
}
