#!/usr/bin/env bash
# Builds, measures and tests; `./run.sh help` shows how. The work is done in scripts/.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source-path=SCRIPTDIR
for part in common packages build workloads programs machines other_debian glibc aarch64 clang lint test try check explore \
  campaign package predict site wheel; do
  # shellcheck disable=SC1090
  . "scripts/$part.sh"
done

usage() {
  cat <<'EOF'
Usage: ./run.sh [COMMAND]

Use it:
  ./run.sh              Install what is missing, build, and compare the locks on real programs. After 8 minutes on two
                        cores there is a table on the terminal and a page in results/<date>-.../.
  ./run.sh --full       The same on all workloads, which takes an hour.
  ./run.sh --resume     Continue the last interrupted comparison.
  ./run.sh build        Install what is missing, and build the library, the command build/bin/lockswap and benchmarks.
                        Workloads build larger benchmarks when they need them.

Test it:
  ./run.sh test         Build, lint, and run the tests that cover every lock and every part.
                        It takes less than 20 minutes on two free cores.
  ./run.sh test --changed [BASE]
                        Test what your changes can affect for a few minutes, and say how long all of it would take.
                        BASE is the commit to compare with. Default: where this branch left main.
  ./run.sh test --full [--slice K/N] [--again]
                        Run everything, or the Kth of N parts of it, which takes hours. An interrupted run continues,
                        and --again starts over.
  ./run.sh test --glibc
                        Run on other glibcs, and with the library built on Debian 13 (part of --full; 3 GB of disk).
  ./run.sh test --aarch64
                        Cross-compile for aarch64 and run the tests in an emulator (part of --full).
  ./run.sh test --clang
                        Build the libraries with clang 14 or newer, and run the locks' own tests (part of --full).

Work on it:
  ./run.sh try LOCK     Build one lock after an edit, explore it quickly, and run its stress and conformance tests.
  ./run.sh lint [--full]
                        Run the linters; with --full, clang-tidy on all files instead of those that changed.
  ./run.sh check        Check the locks with other tools: ThreadSanitizer, spin and ESBMC.
  ./run.sh explore [--scheduler ADDRESS] [-- WORDS]
                        Explore all cases (or those that 'lockswap-explore run WORDS' explores) on all processors of
                        this machine or of a Dask cluster.
  ./run.sh predict [FOLDER]
                        Model the locks on the papers' machines, and write a page with plots into build/predictions or
                        FOLDER. It takes some 20 minutes of processor time, which are at most 15 minutes on two free
                        cores. After an interruption it continues.
  ./run.sh site [FOLDER]
                        Build the documentation as a site in build/site or FOLDER; open its index.html in a browser.
  ./run.sh package [FOLDER]
                        Build Debian packages for this release, with checksums and a list of their parts, in
                        build/packages or FOLDER.
  ./run.sh wheel [FOLDER]
                        Build a wheel for pip and pipx in build/dist or FOLDER: the command with the libraries inside.
  ./run.sh help         Show this text.

Packages are installed with apt-get, as root or through sudo. Everything else is written to build/ and results/.
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
      if [[ $# -eq 2 ]]; then git rev-parse --verify --quiet "$2^{commit}" >/dev/null || die "'$2' is not a commit"; fi
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
  --quick) die "a quick campaign is the default now: run ./run.sh without --quick, or ./run.sh --full for everything" ;;
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
    elif [[ ${2:-} == --clang ]]; then
      one_option --clang "${@:2}"
      need_packages compiler gtest tests
      must_have compiler gtest
      clang_tests
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
  explore) explore_all "${@:2}" ;;
  predict)
    [[ $# -le 2 ]] || die "predict takes one folder (see ./run.sh help)"
    predict_all "${@:2}"
    ;;
  site)
    [[ $# -le 2 ]] || die "site takes one folder (see ./run.sh help)"
    build_site "${@:2}"
    ;;
  package)
    [[ $# -le 2 ]] || die "package takes one folder (see ./run.sh help)"
    package_all "${@:2}"
    ;;
  wheel)
    [[ $# -le 2 ]] || die "wheel takes one folder (see ./run.sh help)"
    build_wheel "${@:2}"
    ;;
  help | -h | --help) usage ;;
  *) die "unknown argument '$command' (see ./run.sh help)" ;;
esac
