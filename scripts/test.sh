# shellcheck shell=bash
# The tiers of the tests: tests/tiers/README.md. Each is made of parts, which say what they took; slow tests carry the
# ctest label or the pytest marker `full`.

PARTS=() # the table's lines
MEANWHILE_GROUP='' # the process group of the part that runs beside the others
PART=''  # the part under way
declare -A BUDGETS=() # CPU seconds, by part

tiers() { "$PYTHON" "$ROOT/tests/tiers/tiers.py" "$BUILD" "$@"; }

# read_budgets: those of tests/budgets.toml; WHOLE is the limit of all parts, in minutes.
read_budgets() {
  local name value
  while IFS=$'\t' read -r name value; do
    if [[ $name == minutes ]]; then WHOLE=$value; else BUDGETS[$name]=$value; fi
  done < <("$PYTHON" -c '
import sys, tomllib
budgets = tomllib.load(open(sys.argv[1], "rb"))
for name, value in {"minutes": budgets["minutes"], **budgets["parts"]}.items():
    print(name, value, sep="\t")' "$ROOT/tests/budgets.toml")
}

# used_cpu: sets REPLY to the CPU seconds of all processes that this shell has waited for.
used_cpu() {
  local file=$LOGS/times.$BASHPID line
  mkdir -p "$LOGS"
  times >"$file"
  line=$(tail -n 1 "$file")
  rm -f "$file"
  [[ $line =~ ^([0-9]+)m([0-9]+)[.,][0-9]*s\ ([0-9]+)m([0-9]+) ]] || die "no times in '$line'"
  REPLY=$((BASH_REMATCH[1] * 60 + BASH_REMATCH[2] + BASH_REMATCH[3] * 60 + BASH_REMATCH[4]))
}

# begin NAME: what follows belongs to this part.
begin() {
  PART=$1 STARTED=$SECONDS
  used_cpu
  STARTED_CPU=$REPLY
  say "$PART"
}

# finish RESULT
finish() {
  local took=$((SECONDS - STARTED)) result=$1 cpu budget=${BUDGETS[$PART]:-}
  used_cpu
  cpu=$((REPLY - STARTED_CPU))
  # By processor time: what the clock says depends on who else is there.
  if [[ -n $budget && $cpu -gt $budget ]]; then result+=', over its budget'; fi
  PARTS+=("$(printf '%-24s %4d:%02d %7d  %6s   %s' "$PART" $((took / 60)) $((took % 60)) "$cpu" "$budget" "$result")")
  PART=''
}

# goes_on NAME COMMAND...: a part after whose failure the others still run.
goes_on() {
  begin "$1"
  if "${@:2}"; then finish passed; else finish failed && FAILED+=("$1"); fi
}

# meanwhile NAME COMMAND...: a part for the moments in which the parts after it leave a processor idle, as tests do that
# wait: it runs at a lower priority. What it prints is kept for end_meanwhile.
meanwhile() {
  MEANWHILE=$1 MEANWHILE_STARTED=$SECONDS MEANWHILE_LOG=$LOGS/$1.log
  mkdir -p "$LOGS"
  rm -f "$MEANWHILE_LOG.end"
  set -m # a process group of its own, so that all of it can be ended
  (
    renice -n "$(($(nice) + 10))" -p "$BASHPID" >/dev/null
    status=0
    "${@:2}" || status=$?
    used_cpu
    printf '%d %d %d\n' "$SECONDS" "$status" "$REPLY" >"$MEANWHILE_LOG.end"
  ) >"$MEANWHILE_LOG" 2>&1 </dev/null &
  MEANWHILE_GROUP=$!
  set +m
}

# end_meanwhile: waits for that part and shows what it printed.
end_meanwhile() {
  local ended status cpu
  begin "$MEANWHILE"
  wait "$MEANWHILE_GROUP" || true
  MEANWHILE_GROUP=''
  cat "$MEANWHILE_LOG"
  read -r ended status cpu <"$MEANWHILE_LOG.end"
  # The part's own time, although others ran beside it.
  STARTED=$((SECONDS - ended + MEANWHILE_STARTED))
  used_cpu
  STARTED_CPU=$((REPLY - cpu))
  if [[ $status -eq 0 ]]; then finish passed; else finish failed && FAILED+=("$MEANWHILE"); fi
}

print_parts() {
  local cpu limit=''
  if [[ -n $MEANWHILE_GROUP ]]; then kill -- "-$MEANWHILE_GROUP" 2>/dev/null || true; fi
  if [[ -n $PART ]]; then finish failed; fi
  used_cpu
  cpu=$REPLY
  if [[ -n ${WHOLE:-} ]]; then limit=", limit $WHOLE min on two free processors"; fi
  printf '\n%-24s %7s %7s  %6s\n' part min:s 'CPU s' budget
  printf '%s\n' "${PARTS[@]}"
  printf '%-24s %4d:%02d %7d  %6s   %s\n\n' whole $((SECONDS / 60)) $((SECONDS % 60)) "$cpu" '' "${limit#, }"
}

# end_parts: the table, and status 1 if a part failed.
end_parts() {
  local list
  trap - EXIT
  print_parts
  if [[ ${#FAILED[@]} -gt 0 ]]; then
    list=$(printf ', %s' "${FAILED[@]}")
    printf 'run.sh: failed: %s\n' "${list:2}" >&2
    return 1
  fi
  say "everything passed"
}

# run_ctest FOLDER ARGS...: two tests for each processor, since most of them wait half of their time.
run_ctest() { ctest --test-dir "$BUILD/$1" --output-on-failure --no-tests=error -j $((2 * JOBS)) "${@:2}"; }

# keep_bytecode: where the environment has Python keep none, as images of containers do, each of some thousand
# interpreters would compile what it imports.
keep_bytecode() { unset PYTHONDONTWRITEBYTECODE; }

# run_pytest ARGS...: as many at once. A file is one process's, since its tests share what took long to make. Files of
# which the marks leave nothing, status 5, have not failed.
run_pytest() {
  local status=0
  PYTHONPATH=$ROOT/tests/tiers "$BUILD/venv/bin/python" -m pytest -q -p record_files -n $((2 * JOBS)) --dist loadfile "$@" ||
    status=$?
  [[ $status -eq 0 || $status -eq 5 ]]
}

# The tier of newcomers and CI: the same for the same tree.
run_tests() {
  FAILED=() WHOLE=''
  keep_bytecode
  local quick=(-LE '^full$')
  trap print_parts EXIT
  begin packages
  need_packages "${BUILD_GROUPS[@]}" lint tests workloads
  must_have compiler python benchmarks gtest
  read_budgets # by Python, which an empty system lacks until here
  finish "$(packages_result "${!MISSING[@]}")"
  begin build
  build_all tests
  finish passed
  begin 'programs to test with'
  get_workloads
  get_programs
  finish "there${LEFT_OUT[*]:+, but for ${LEFT_OUT[*]}}"
  export TEST_RECORD=$BUILD/tested/test.tsv # what each test took
  mkdir -p "$BUILD/tested"
  : >"$TEST_RECORD"
  goes_on lint run_lint --same
  meanwhile exploration run_ctest . "${quick[@]}" -R '^explore'
  goes_on 'unit and conformance' run_ctest . "${quick[@]}" -E '^(explore|programs)'
  goes_on programs run_ctest . "${quick[@]}" -R '^programs'
  goes_on glibc test_glibc --quick
  goes_on harness run_pytest -m 'not full and not alone' tests structures/tests
  end_meanwhile
  tiers report
  end_parts
}

# planned NAME: whether the plan has this part.
planned() { grep -qxF "$1" "$PLAN/parts"; }

# full_part NAME COMMAND...: a part of the full tier, which this tree is done with once it has passed.
full_part() {
  if ! planned "$1"; then return 0; fi
  goes_on "$@"
  [[ " ${FAILED[*]} " == *" $1 "* ]] || tiers passed "$1"
}

# full_ctest: the tests of the plan. Some are judged by their output, which what measures them doesn't see.
full_ctest() {
  local status=0
  run_ctest . -I "$PLAN/ctest" --output-junit "$PLAN/junit.xml" || status=$?
  tiers by-output "$PLAN/junit.xml" "$TEST_RECORD"
  return "$status"
}

# run_full_tests [--slice K/N] [--again]: everything, or what this tree lacks of it.
run_full_tests() {
  local files
  FAILED=() WHOLE='' PLAN=$BUILD/tested/plan
  keep_bytecode
  trap print_parts EXIT
  begin packages
  need_packages "${BUILD_GROUPS[@]}" lint tests workloads glibc containers
  must_have compiler python benchmarks gtest
  finish "$(packages_result "${!MISSING[@]}")"
  begin build
  build_all tests_full
  finish passed
  tiers plan "$PLAN" "$@"
  begin 'programs to test with'
  get_workloads
  get_programs --full
  get_machines
  finish "there${LEFT_OUT[*]:+, but for ${LEFT_OUT[*]}}"
  TEST_RECORD=$(<"$PLAN/state")
  export TEST_RECORD
  full_part lint run_lint --full
  if [[ -s $PLAN/ctest ]]; then goes_on ctest full_ctest; fi
  full_part glibc test_glibc ''
  mapfile -t files <"$PLAN/pytest"
  if [[ ${#files[@]} -gt 0 ]]; then goes_on harness run_pytest -m 'not alone' "${files[@]}"; fi
  full_part 'aarch64, emulated' aarch64_tests
  full_part clang clang_tests
  # What is measured by the clock.
  full_part 'harness, alone' "$BUILD/venv/bin/python" -m pytest -q -m alone tests structures/tests
  end_parts
}

# lint_changed FILES: the linters that such files concern.
lint_changed() {
  local names=$1 failed=0
  if grep -qE '\.(c|cc|cpp|h|hpp)$' <<<"$names"; then lint_format && lint_tidy "$names" || failed=1; fi
  if grep -qE '\.(c|cc|cpp|h|hpp|py|def)$' <<<"$names"; then lint_layers || failed=1; fi
  if grep -qE '\.py$' <<<"$names"; then lint_ruff || failed=1; fi
  if grep -qE '\.(sh|inc)$|^\.ci/|^scripts/|^packaging/|^debian/' <<<"$names"; then lint_shell || failed=1; fi
  lint_prose || failed=1
  lint_budgets || failed=1
  return "$failed"
}

# run_changed_tests [BASE]: what the files that differ from BASE reach, at quick depth.
run_changed_tests() {
  local targets files lock
  FAILED=() WHOLE='' PLAN=$BUILD/tested/changed
  keep_bytecode
  trap print_parts EXIT
  if [[ ! -e $BUILD/build.ninja ]]; then
    need_packages "${BUILD_GROUPS[@]}" lint tests
    must_have compiler python benchmarks gtest
    configure
  fi
  make_venv
  cmake --build "$BUILD" --target measured >/dev/null # and ctest's list, if a CMakeLists.txt changed
  begin choice
  tiers changed "$PLAN" ${1:+--base "$1"}
  finish made
  mapfile -t targets <"$PLAN/targets"
  if [[ ${#targets[@]} -gt 0 ]]; then goes_on build cmake --build "$BUILD" -j "$JOBS" --target "${targets[@]}"; fi
  goes_on lint lint_changed "$(<"$PLAN/files")"
  while read -r lock; do goes_on "try $lock" try_lock "$lock" </dev/null; done <"$PLAN/locks"
  export TEST_RECORD=$PLAN/results
  if [[ -s $PLAN/ctest ]]; then goes_on ctest run_ctest . -I "$PLAN/ctest"; fi
  mapfile -t files <"$PLAN/pytest"
  if [[ ${#files[@]} -gt 0 ]]; then goes_on harness run_pytest -m 'not full and not alone' "${files[@]}"; fi
  end_parts
}
