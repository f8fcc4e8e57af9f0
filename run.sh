#!/usr/bin/env bash
# The one door to the project. `./run.sh help` says what it does; the work is in scripts/.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source-path=SCRIPTDIR
for part in common packages build workloads programs machines other_debian glibc aarch64 lint test try check campaign; do
  # shellcheck disable=SC1090
  . "scripts/$part.sh"
done

usage() {
  cat <<'EOF'
./run.sh                install what is missing, build, get the programs, compare the locks on them: a table and a page
                        in results/<date>-.../ (8 minutes on two cores);  --full: all workloads (an hour)
./run.sh --resume       go on with the campaign that was interrupted last
./run.sh build          install what is missing, make build/liblockswap.so, build/apps/ and build/bin/lockswap
                        (larger benchmarks are built by the workload that needs them: docs/recipes.md)
./run.sh test           install what is missing, build, lint, and run the tests that stand for all: every lock, every part,
                        every kind of fault, the same for the same tree; below 23 minutes on two free cores
./run.sh test --changed [BASE]  what the files that differ from BASE (default: since the branch left main) reach, briefly:
                        minutes; says what all that they reach would cost
./run.sh test --full [--slice K/N] [--again]  everything, or the Kth of N slices; hours. It can be interrupted: the next
                        run does what is missing of this tree. --again: from the start
./run.sh test --glibc   test on other glibcs, and with the library built on Debian 13 (part of --full; 3 GB in build/)
./run.sh test --aarch64 cross-compile for aarch64 and run its tests emulated (part of --full): tests/aarch64/README.md
./run.sh try LOCK       after an edit in a lock: build it alone, explore it quickly, stress it, and hold it to its contract
./run.sh lint [--full]  the linters alone (--full: clang-tidy on the whole tree, not only on what changed)
./run.sh check          second opinions on the locks: ThreadSanitizer, spin, ESBMC
./run.sh help           this text

Packages are installed with apt-get, as root or through sudo; everything else is written to build/ and results/.
EOF
}

# one_option ALLOWED ARGS...: at most one option, and only this one.
one_option() {
  local allowed=$1
  shift
  [[ $# -le 1 ]] || die "too many arguments: '$*' (see ./run.sh help)"
  [[ $# -eq 0 || $1 == "$allowed" ]] || die "unknown argument '$1' (see ./run.sh help)"
}

# choose_tier [ARGS...]
choose_tier() {
  case ${1:-} in
    '') run_tests ;;
    --changed)
      [[ $# -le 2 ]] || die "--changed takes one commit to compare with (see ./run.sh help)"
      if [[ $# -eq 2 ]]; then git rev-parse --verify --quiet "$2^{commit}" >/dev/null || die "'$2' is no commit"; fi
      run_changed_tests "${@:2}"
      ;;
    --full)
      [[ ${*:2} =~ ^(--again\ ?)?(--slice\ [0-9]+/[0-9]+)?(\ ?--again)?$ ]] || die "unknown arguments '${*:2}' (see ./run.sh help)"
      run_full_tests "${@:2}"
      ;;
    *) die "unknown argument '$1' (see ./run.sh help)" ;;
  esac
}

command=${1:-}
case $command in
  '' | --full)
    one_option --full "$@"
    campaign "$command"
    ;;
  --resume)
    one_option --resume "$@"
    resume_campaign
    ;;
  --quick) die "'--quick' is what ./run.sh does by itself now; the whole campaign is ./run.sh --full" ;;
  build)
    one_option '' "${@:2}"
    build_all
    ;;
  test)
    if [[ ${2:-} == --glibc ]]; then
      one_option --glibc "${@:2}"
      run_glibc_tests
    elif [[ ${2:-} == --aarch64 ]]; then
      one_option --aarch64 "${@:2}"
      aarch64_tests
    else
      choose_tier "${@:2}"
    fi
    ;;
  try)
    [[ $# -eq 2 ]] || die "try takes the name of a lock (see ./run.sh help)"
    try_lock "$2"
    ;;
  lint)
    one_option --full "${@:2}"
    need_packages "${BUILD_GROUPS[@]}" workloads lint
    must_have compiler python
    make_venv
    configure
    run_lint "${2:-}"
    ;;
  check)
    one_option '' "${@:2}"
    run_check
    ;;
  help | -h | --help) usage ;;
  *) die "unknown argument '$command' (see ./run.sh help)" ;;
esac
