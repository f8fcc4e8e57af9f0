# shellcheck shell=bash
# Everything that must hold. Slow tests carry the ctest label or the pytest marker `full`.

run_tests() {
  local full=${1:-} failed=() ctest_only=(-LE '^full$') pytest_only=(-m 'not full')
  if [[ -n $full ]]; then ctest_only=() pytest_only=(); fi

  need_packages build tests workloads
  build_all
  get_workloads
  run_lint "$full" || failed+=(lint)
  say "ctest"
  nice ctest --test-dir "$BUILD" --output-on-failure --no-tests=error -j "$JOBS" "${ctest_only[@]}" || failed+=(ctest)
  say "pytest"
  nice "$BUILD/venv/bin/python" -m pytest -q "${pytest_only[@]}" tests || failed+=(pytest)

  if [[ ${#failed[@]} -gt 0 ]]; then
    printf 'run.sh: failed: %s\n' "${failed[*]}" >&2
    return 1
  fi
  say "lint, ctest and pytest passed"
}
