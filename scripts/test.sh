# shellcheck shell=bash
# Everything that must hold, in parts that each say how long they took. Slow tests carry the ctest label or the
# pytest marker `full`.

PARTS=() # the table's lines
MEANWHILE_GROUP='' # the process group of the part that runs beside the others
PART=''  # the part under way

# begin NAME [MINUTES]: what follows belongs to this part, which should take no longer (on two cores).
begin() {
  PART=$1 LIMIT=${2:-} STARTED=$SECONDS
  say "$PART"
}

# finish RESULT
finish() {
  local took=$((SECONDS - STARTED)) result=$1
  if [[ -n $LIMIT && $took -gt $((LIMIT * 60)) ]]; then result+=', over its limit'; fi
  PARTS+=("$(printf '%-24s %4d:%02d   %-7s %s' "$PART" $((took / 60)) $((took % 60)) "${LIMIT:+$LIMIT min}" "$result")")
  PART=''
}

# goes_on NAME MINUTES COMMAND...: a part after whose failure the others still run.
goes_on() {
  begin "$1" "$2"
  if "${@:3}"; then finish passed; else finish failed && FAILED+=("$1"); fi
}

# meanwhile NAME MINUTES COMMAND...: a part for the moments in which the parts after it leave a processor idle, as tests
# do that wait: it runs at the lowest priority there is. What it prints is kept for end_meanwhile.
meanwhile() {
  MEANWHILE=("$1" "$2") MEANWHILE_STARTED=$SECONDS MEANWHILE_LOG=$LOGS/$1.log
  mkdir -p "$LOGS"
  set -m # a process group of its own, so that all of it can be ended
  (
    chrt --idle --pid 0 "$BASHPID"
    status=0
    "${@:3}" || status=$?
    printf '%d %d\n' "$SECONDS" "$status" >"$MEANWHILE_LOG.end"
  ) >"$MEANWHILE_LOG" 2>&1 </dev/null &
  MEANWHILE_GROUP=$!
  set +m
}

# end_meanwhile: waits for that part and shows what it printed.
end_meanwhile() {
  local ended status
  begin "${MEANWHILE[@]}"
  wait "$MEANWHILE_GROUP" || true
  MEANWHILE_GROUP=''
  cat "$MEANWHILE_LOG"
  read -r ended status <"$MEANWHILE_LOG.end"
  # The part's own time, although others ran beside it.
  STARTED=$((SECONDS - ended + MEANWHILE_STARTED))
  if [[ $status -eq 0 ]]; then finish passed; else finish failed && FAILED+=("${MEANWHILE[0]}"); fi
}

print_parts() {
  if [[ -n $MEANWHILE_GROUP ]]; then kill -- "-$MEANWHILE_GROUP" 2>/dev/null || true; fi
  if [[ -n $PART ]]; then finish failed; fi
  printf '\n%-24s %7s   %-7s\n' part min:s limit
  printf '%s\n' "${PARTS[@]}"
  printf '%-24s %4d:%02d   %-7s\n\n' whole $((SECONDS / 60)) $((SECONDS % 60)) "${WHOLE:+$WHOLE min}"
}

# run_ctest FOLDER ARGS...
run_ctest() { nice ctest --test-dir "$BUILD/$1" --output-on-failure --no-tests=error -j "$JOBS" "${@:2}"; }

# choose_quarter: which quarter of the conformance and the explored cases runs beside those that always run. The
# commits of a history take turns, so four runs have had all.
choose_quarter() {
  export TESTS_QUARTER=$(($(git rev-list --count HEAD 2>/dev/null || echo 0) % 4))
  say "conformance and exploration: quarter $TESTS_QUARTER of 0 to 3, chosen by the number of commits (all: ./run.sh test --full)"
}

run_tests() {
  local full=${1:-} ctest=(-LE '^full$') pytest=(-m 'not full and not alone') limits=(7 8 14 6 6 2)
  FAILED=() WHOLE=25
  if [[ -n $full ]]; then ctest=() pytest=(-m 'not alone') limits=('' '' '' '' '' '') WHOLE=''; fi

  trap print_parts EXIT
  begin packages
  need_packages "${BUILD_GROUPS[@]}" lint tests workloads ${full:+glibc}
  must_have compiler python benchmarks gtest
  finish "$(packages_result "${!MISSING[@]}")"
  begin build "${limits[0]}"
  build_all "tests${full:+_full}"
  finish passed
  begin 'programs to test with'
  get_workloads
  get_programs "$full"
  if [[ -n $full ]]; then get_machines; fi
  finish "there${LEFT_OUT[*]:+, but for ${LEFT_OUT[*]}}"
  goes_on lint '' run_lint "$full"
  if [[ -z $full ]]; then choose_quarter; fi
  meanwhile exploration "${limits[2]}" run_ctest tests/explore "${ctest[@]}"
  goes_on 'unit and conformance' "${limits[1]}" run_ctest . "${ctest[@]}" -E '^(explore|programs)'
  goes_on programs "${limits[3]}" run_ctest . "${ctest[@]}" -R '^programs'
  if [[ -z $full ]]; then goes_on glibc "${limits[5]}" test_glibc --quick; else goes_on glibc '' test_glibc ''; fi
  # A file is one process's: its tests share what took long to make.
  goes_on harness "${limits[4]}" nice "$BUILD/venv/bin/python" -m pytest -q -n "$JOBS" --dist loadfile "${pytest[@]}" tests
  end_meanwhile
  if [[ -n $full ]]; then goes_on 'aarch64, emulated' '' aarch64_tests; fi
  # What is measured by the clock.
  if [[ -n $full ]]; then goes_on 'harness, alone' '' "$BUILD/venv/bin/python" -m pytest -q -m alone tests; fi

  trap - EXIT
  print_parts
  if [[ ${#FAILED[@]} -gt 0 ]]; then
    local list
    list=$(printf ', %s' "${FAILED[@]}")
    printf 'run.sh: failed: %s\n' "${list:2}" >&2
    return 1
  fi
  say "everything passed"
}
