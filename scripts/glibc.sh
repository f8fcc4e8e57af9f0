# shellcheck shell=bash
# Other glibcs than the system's, and the library as another Debian builds it, for tests/glibc. Everything comes from
# Debian's archive, by an apt of its own, and stays in build/glibc; nothing is installed.

GLIBC_SUITES=(trixie sid)   # 2.41, and 2.43 or newer
GLIBC_OLDEST_SUITE=bullseye # 2.31, the oldest that we name
GLIBC_BUILD_SUITE=trixie    # whose compiler and glibc make the other build
GLIBC_LIBRARIES=(liblockswap.so liblockswap-audit.so liblockswap-fuzz.so)

# archive_uri: where this system gets Debian's packages from.
archive_uri() {
  local uri
  uri=$({ cat /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources} 2>/dev/null || true; } |
    sed -nE 's/^(deb (\[[^]]*\] )?|URIs: *)(https?:[^ ]*\/debian\/?)( .*)?$/\3/p' | head -n 1)
  printf '%s\n' "${uri:-http://deb.debian.org/debian}"
}

# apt_of SUITE ARGS...: apt-get that knows this suite alone.
apt_of() {
  local root=$BUILD/glibc/$1/apt
  mkdir -p "$root"/{lists,cache/archives/partial}
  : >"$root/status"
  printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' "$(archive_uri)" "$1" >"$root/sources.list"
  apt-get -q -o Dir::Etc::sourcelist="$root/sources.list" -o Dir::Etc::sourceparts=/dev/null \
    -o Dir::State::lists="$root/lists" -o Dir::State::status="$root/status" -o Dir::Cache="$root/cache" \
    -o APT::Sandbox::User=root -o APT::Update::Error-Mode=any "${@:2}"
}

# get_glibc SUITE: build/glibc/SUITE/libc6, and its version beside it. Sid's is looked for again each day.
get_glibc() {
  local suite=$1 folder=$BUILD/glibc/$1
  if [[ -s $folder/version && ($suite != sid || -n $(find "$folder/version" -mtime -1)) ]]; then return 0; fi
  mkdir -p "$folder"
  if ! quietly "glibc-$suite" unpack_glibc "$suite" "$folder"; then
    say "the glibc of $suite is not to be had from $(archive_uri): going on without it"
  fi
}

unpack_glibc() {
  local suite=$1 folder=$2
  rm -rf "$folder"/{libc6,version,*.deb}
  apt_of "$suite" update || return 1
  (cd "$folder" && apt_of "$suite" download libc6) || return 1
  dpkg-deb -x "$folder"/libc6_*.deb "$folder/libc6" || return 1
  dpkg-deb -f "$folder"/libc6_*.deb Version | sed -E 's/^([0-9]+\.[0-9]+).*/\1/' >"$folder/version"
  rm -f "$folder"/*.deb
}

# make_root SUITE NAME PACKAGES: a small Debian in build/glibc/NAME/root, once.
make_root() {
  local suite=$1 folder=$BUILD/glibc/$2
  [[ -e $folder/made ]] && return 0
  if [[ $EUID -ne 0 ]]; then
    say "only root can make a system of $suite: going on without it"
    return 1
  fi
  if ! command -v debootstrap >/dev/null; then
    say "debootstrap is not installed: going on without a system of $suite"
    return 1
  fi
  rm -rf --one-file-system "$folder/root"
  mkdir -p "$folder"
  if ! quietly "root-$suite" debootstrap --variant=minbase --include="$3" "$suite" "$folder/root" "$(archive_uri)"; then
    say "a system of $suite is not to be had from $(archive_uri): going on without it"
    return 1
  fi
  touch "$folder/made"
}

# in_root NAME COMMAND...: in that system, with this one's devices, and this checkout at /mnt.
in_root() {
  # shellcheck disable=SC2016,SC2153 # expanded inside; ROOT is common.sh's
  unshare --mount --pid --fork bash -c 'mount --bind /dev "$0/dev" && mount -t proc proc "$0/proc" &&
    mount --bind "$1" "$0/mnt" && exec chroot "$0" "${@:2}"' "$BUILD/glibc/$1/root" "$ROOT" "${@:2}"
}

# get_debian13_build: the preload libraries as Debian 13 builds them, in build/glibc/debian13.
get_debian13_build() {
  local folder=$BUILD/glibc/debian13 library
  rm -f "$folder"/*.so
  make_root "$GLIBC_BUILD_SUITE" debian13 g++,cmake,ninja-build || return 0
  say "building the libraries on Debian 13"
  quietly debian13-configure in_root debian13 cmake -G Ninja -S /mnt -B /build -DLOCKSWAP_APPS=OFF || return 1
  quietly debian13-build in_root debian13 nice ninja -C /build -j "$JOBS" "${GLIBC_LIBRARIES[@]}" || return 1
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
  in_root oldest nice python3 /mnt/tests/glibc/oldest.py /libraries
}

# test_glibc --quick | ''
test_glibc() {
  local quick=$1 suite failed=0
  if ! command -v apt-get >/dev/null; then
    say "other glibcs come from Debian's archive, by apt-get, which is not here: not tested"
    return 0
  fi
  for suite in "${GLIBC_SUITES[@]}"; do get_glibc "$suite"; done
  if [[ -z $quick ]]; then get_debian13_build || failed=1; fi
  nice "$BUILD/venv/bin/python" tests/glibc/matrix.py "$BUILD" ${quick:+"$quick"} || failed=1
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
