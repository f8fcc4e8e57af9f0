# shellcheck shell=bash
# Debian packages, in groups; only what is missing is installed.
# shellcheck disable=SC2034 # the groups are read by name

PACKAGES_build=(
  ca-certificates
  cmake
  g++
  libcli11-dev # command lines of our benchmarks
  libgtest-dev
  libkyotocabinet-dev # the database of apps/kyoto.cpp
  libssl-dev          # the libraries of apps/openssl_*.cpp
  ninja-build
  python3-venv
  systemtap-sdt-dev # static probes, for tracers
)
PACKAGES_workloads=(
  dpkg-dev           # unpacks Debian's source packages
  kyotocabinet-utils # kccachetest, kcprototest
  libgflags-dev      # hash_table_bench
  librocksdb-dev
  liburcu-dev
  linux-perf         # perf stat
  numactl
  rocksdb-tools      # db_bench
)
PACKAGES_tests=(
  bpftrace           # the probes, looked at as users do
  chromium           # the report is looked at in a real browser
  chromium-driver
  clang
  clang-format
  clang-tidy
  git
  libjemalloc2
  libmimalloc2.0
  libtcmalloc-minimal4
  shellcheck
  strace             # lockswap trace-vm
  valgrind
)
PACKAGES_machines=( # emulated, for ./run.sh test --full
  cpio
  numactl
  qemu-system-x86
)
PACKAGES_aarch64=( # cross-built and emulated, for ./run.sh test --aarch64
  g++-aarch64-linux-gnu
  googletest # the source
)
PACKAGES_check=(spin)

installed() { dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed; }

# need_packages GROUP...
need_packages() {
  local group package missing=() as_root=()
  for group in "$@"; do
    local -n list=PACKAGES_$group
    for package in "${list[@]}"; do
      installed "$package" || missing+=("$package")
    done
  done
  [[ ${#missing[@]} -gt 0 ]] || return 0

  command -v apt-get >/dev/null || die "this system has no apt-get; lockswap is built and tested on Debian 12"
  if [[ $EUID -ne 0 ]]; then
    command -v sudo >/dev/null || die "neither root nor sudo: ask an administrator for: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
  quietly apt-update "${apt[@]}" update
  quietly apt-install "${apt[@]}" install -y --no-install-recommends "${missing[@]}"
}
