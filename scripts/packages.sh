# shellcheck shell=bash
# What is needed, in groups with a purpose each. What is missing is installed with apt-get, where there is one.
# What stays missing is listed by purpose, and only what needs it is left out.
#
# A line has the names of a Debian package, with | between them, since releases name some differently: the first
# one that apt knows is installed. Behind them stands how the thing is seen if dpkg doesn't know it, because
# another distribution installed it or somebody built it:
#
#     program:NAME   on PATH
#     header:NAME    the C++ compiler finds it, or it is below CMAKE_PREFIX_PATH
#     python:NAME    a module of $PYTHON
# shellcheck disable=SC2034 # the groups are read by name

declare -A PURPOSES=(
  [compiler]='to compile'
  [python]='for the command lockswap'
  [benchmarks]='for our benchmarks'
  [peers]='to compare the locks of other libraries'
  [probes]='for static probes'
  [gtest]='for the tests in C++'
  [workloads]='for the programs of the campaign'
  [lint]='to lint'
  [tests]='for tests'
  [programs]='for tests with programs'
  [machines]='for tests on emulated machines'
  [glibc]='for tests on other glibcs'
  [containers]='for tests in containers'
  [aarch64]='for tests of the aarch64 build'
  [check]='for second opinions'
  [packages]='to make packages'
)
BUILD_GROUPS=(compiler python benchmarks probes gtest)

PACKAGES_compiler=(
  'g++ program:c++'
  'cmake program:cmake'
  'ninja-build program:ninja'
)
PACKAGES_python=(
  'python3-venv python:ensurepip'
  'ca-certificates program:update-ca-trust' # for pip; the program is Fedora's
)
PACKAGES_benchmarks=(
  'libcli11-dev header:CLI/CLI.hpp'       # command lines
  'libkyotocabinet-dev header:kcpolydb.h' # the database of apps/kyoto.cpp
  'libssl-dev header:openssl/ssl.h'       # the libraries of apps/openssl_*.cpp
)
PACKAGES_peers=( # for `lockswap compare -w peers-...`; nothing else needs them
  'libabsl-dev header:absl/synchronization/mutex.h'
  libboost-thread-dev # its headers alone may be there
  'libck-dev header:ck_pr.h'
  'libnsync-dev header:nsync.h'
  'libtbb-dev header:oneapi/tbb/rw_mutex.h'
  'cargo program:cargo' # parking_lot
)
PACKAGES_probes=('systemtap-sdt-dev header:sys/sdt.h')
PACKAGES_gtest=('libgtest-dev header:gtest/gtest.h')
PACKAGES_workloads=(
  'dpkg-dev program:dpkg-source'             # unpacks Debian's source packages
  'kyotocabinet-utils program:kccachetest'   # and kcprototest
  'libgflags-dev header:gflags/gflags.h'     # hash_table_bench
  'librocksdb-dev'                           # its source has the version of the package
  'liburcu-dev'                              # as well
  'linux-perf|linux-tools-generic program:perf' # perf stat
  'numactl program:numactl'
  'rocksdb-tools program:db_bench'
)
PACKAGES_lint=(
  'abigail-tools program:abidiff' # the binary interface of the libraries that programs link with
  'clang-tidy program:clang-tidy'
  'doxygen program:doxygen' # the reference of the public headers
  'git program:git'
  'shellcheck program:shellcheck'
)
PACKAGES_tests=(
  'bpftrace program:bpftrace' # the probes, looked at as users do
  'chromium program:chromium' # the report is looked at in a real browser
  'chromium-driver program:chromedriver'
  'clang program:clang'
  debian-archive-keyring # for the glibcs of other releases
  'fish program:fish' # completion, by a key in the shell itself; and zsh below
  libclang-rt-dev        # clang's sanitizers
  'libdw1t64|libdw1'     # stacks of programs that were started without lockswap
  libjemalloc2
  'libmimalloc3|libmimalloc2.0'
  'libtcmalloc-minimal4t64|libtcmalloc-minimal4'
  'mandoc program:mandoc' # lints the manual pages
  'musl-tools program:musl-gcc' # a program that glibc's loader doesn't start
  'pkgconf|pkg-config program:pkg-config' # how programs find the installed library
  'prometheus program:promtool' # what scrapes lockswap metrics
  'strace program:strace' # lockswap trace-vm
  'systemd program:systemd-analyze' # reads the drop-ins of lockswap service
  'systemd-container program:systemd-nspawn' # boots it, to run services
  'valgrind program:valgrind'
  'zsh program:zsh'
)
PACKAGES_machines=( # emulated, for ./run.sh test --full
  'cpio program:cpio'
  'numactl program:numactl'
  'qemu-system-x86 program:qemu-system-x86_64'
)
PACKAGES_glibc=('debootstrap program:debootstrap') # for ./run.sh test --glibc and --full
PACKAGES_containers=( # for ./run.sh test --full: the recipes for Docker and Kubernetes
  'podman program:podman'
  'runc program:runc'           # starts containers, also where cgroups are of the first version
  'catatonit program:catatonit' # the first process of a pod
)
PACKAGES_aarch64=( # cross-built and emulated, for ./run.sh test --aarch64
  'g++-aarch64-linux-gnu program:aarch64-linux-gnu-g++'
  googletest # the source
  debian-archive-keyring
)
PACKAGES_check=('spin program:spin')
PACKAGES_packages=( # for ./run.sh package
  'debhelper program:dh'
  'dh-python program:dh_python3'
  'dpkg-dev program:dpkg-buildpackage'
)

declare -A MISSING=() # of each group that was asked for: what is not there

# lacks GROUP: something of it is missing, so what needs it has to be left out.
lacks() { [[ -n ${MISSING[$1]:-} ]]; }

installed() { dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed; }

# seen HOW: see the head of this file.
seen() {
  local name=${1#*:} folder folders=()
  case $1 in
    program:*) command -v "$name" >/dev/null ;;
    header:*)
      IFS=: read -r -a folders <<<"${CMAKE_PREFIX_PATH:-}"
      for folder in "${folders[@]}"; do
        [[ ! -e $folder/include/$name ]] || return 0
      done
      echo "#include <$name>" | "${CXX:-c++}" -E -x c++ - >/dev/null 2>&1
      ;;
    python:*) "$PYTHON" -c "import $name" >/dev/null 2>&1 ;;
    *) return 1 ;;
  esac
}

# there LINE: a package of that line is installed, or the thing is seen.
there() {
  local names name how
  read -r names how <<<"$1"
  for name in ${names//|/ }; do
    ! installed "$name" || return 0
  done
  seen "$how"
}

# as_root COMMAND...: by sudo, if need be; can_be_root says whether that is possible.
as_root() { if [[ $EUID -eq 0 ]]; then "$@"; else sudo "$@"; fi; }
can_be_root() { [[ $EUID -eq 0 ]] || command -v sudo >/dev/null; }

# install_by_apt WORD...: apt-get without questions.
install_by_apt() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@"; }

# update_apt: the lists of packages, once in a run.
update_apt() {
  [[ -z $APT_IS_UPDATED ]] || return 0
  quietly apt-update install_by_apt update
  APT_IS_UPDATED=yes
}
APT_IS_UPDATED=

# first_known NAME[|NAME...]: REPLY is the first of these names that apt could install. If there is none, false.
first_known() {
  local name policy
  REPLY=
  command -v apt-get >/dev/null || return 1
  for name in ${1//|/ }; do
    policy=$(LC_ALL=C apt-cache policy "$name" 2>/dev/null)
    if [[ $policy =~ 'Candidate: '[^\(] ]]; then
      REPLY=$name
      return 0
    fi
  done
  # No list of packages, or one that is too old?
  [[ -z $APT_IS_UPDATED ]] && can_be_root && update_apt && first_known "$1"
}

# note_missing GROUP...: what of these groups is not there.
note_missing() {
  local group line
  for group in "$@"; do
    MISSING[$group]=
    local -n list=PACKAGES_$group
    for line in "${list[@]}"; do
      [[ -n $line ]] || continue
      there "$line" || MISSING[$group]+="${MISSING[$group]:+ }${line%% *}"
    done
  done
}

# install_missing GROUP...: with apt-get, as far as it knows what is missing.
install_missing() {
  local group names packages=()
  command -v apt-get >/dev/null && can_be_root || return 0
  update_apt
  for group in "$@"; do
    for names in ${MISSING[$group]}; do
      if first_known "$names"; then packages+=("$REPLY"); fi
    done
  done
  [[ ${#packages[@]} -gt 0 ]] || return 0
  say "installing ${packages[*]}"
  quietly apt-install install_by_apt install -y --no-install-recommends "${packages[@]}"
}

# say_missing GROUP...: by purpose, with the names that Debian has for it.
say_missing() {
  local group names
  printf 'run.sh: these packages are missing: install them, or what your system calls them (these are the names in Debian)\n'
  for group in "$@"; do
    lacks "$group" || continue
    names=${MISSING[$group]// /, }
    printf '  %s: %s\n' "${PURPOSES[$group]}" "${names//|/ or }"
  done
  if command -v apt-get >/dev/null && ! can_be_root; then
    printf '  (this needs root or sudo: ask an administrator to install them)\n'
  fi
}

# need_packages GROUP...: installs what is missing. What can't be installed is said; afterwards `lacks` knows it.
need_packages() {
  local group any=
  note_missing "$@"
  for group in "$@"; do any+=${MISSING[$group]}; done
  [[ -n $any ]] || return 0
  install_missing "$@"
  note_missing "$@"
  any=
  for group in "$@"; do any+=${MISSING[$group]}; done
  [[ -z $any ]] || say_missing "$@" >&2
}

# packages_result GROUP...: for the table of `./run.sh test`.
packages_result() {
  local group result=
  for group in "$@"; do
    if lacks "$group"; then result+=", except some ${PURPOSES[$group]}"; fi
  done
  echo "installed$result"
}

# must_have GROUP...: after need_packages, for what can't be done without them.
must_have() {
  local group
  for group in "$@"; do
    ! lacks "$group" || die "can't continue: install the packages that are missing ${PURPOSES[$group]}"
  done
}
