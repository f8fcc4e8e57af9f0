#!/usr/bin/env python3
"""Cancellations of threads that wait for a condition variable, at any instruction of the wait.

    cancelled.py LIBRARY REGISTRY FOLDER [--full]

--full: before each instruction; else before every third, which no step of a wait is shorter than. Exit status 1 if a
test fails. The condition variable is the same whatever the mutex is. cancelled.cpp says more.
"""

import sys

from under import Skip, need, run_tests, under_test

under = under_test("LIBRARY REGISTRY FOLDER [--full]")
STEP = 1 if "--full" in sys.argv[4:] else 3


def at_any_instruction(lock: str | None) -> None:
    # A spin would add thousands of instructions that are all the same.
    said = under.run("cancelled", STEP, lock=lock, LOCKSWAP_SPIN=0)
    if said.returncode == 77:
        raise Skip("the trap flag is x86-64's")
    need(said.returncode == 0, f"{lock or 'glibc'}: {(said.stdout + said.stderr)[-300:]!r}")
    need(int(said.stdout.split()[1]) > 100, f"{lock or 'glibc'}: {said.stdout!r}")


def test_glibcs_own() -> None:
    at_any_instruction(None)


def test_ours() -> None:
    at_any_instruction(under.mutex)


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
