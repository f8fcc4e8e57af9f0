#!/usr/bin/env python3
"""Signal handlers that take reader-writer locks, before each instruction of a call that reads or releases one.

    handlers.py LIBRARY REGISTRY FOLDER [--full]

--full: under each lock, at each instruction. Else at each third one, under a lock with BRAVO, one with its asymmetric
form, the lock below both, and one with a block of its own: what is recorded of a thread's holds differs in these, not
from lock to lock, so together they are met at nearly each instruction. Exit status 1 if a test fails. handlers.cpp
says what each scenario does.
"""

import sys
from concurrent.futures import ThreadPoolExecutor

from under import Skip, need, run_tests, under_test

under = under_test("LIBRARY REGISTRY FOLDER [--full]")
STEP = 1 if under.is_full else 3


def instructions(scenario: str, lock: str | None, first: int) -> int:
    said = under.run("handlers", scenario, first, STEP, lock=lock)
    if said.returncode == 77:
        raise Skip("the trap flag is x86-64's")
    need(said.returncode == 0, f"{lock or 'glibc'}: {(said.stdout + said.stderr)[-300:]!r}")
    return int(said.stdout.split()[1])


def in_each(locks: list[str | None]) -> None:
    scenarios = under.run_well("handlers", "list").stdout.split()
    with ThreadPoolExecutor(2) as pool:
        runs = [
            pool.submit(instructions, scenario, lock, 1 + number % STEP)
            for number, lock in enumerate(locks)
            for scenario in scenarios
        ]
        counts = [run.result() for run in runs]
    need(all(count > 10 for count in counts), f"{locks}: so few instructions were met: {counts}")


def test_glibcs_own() -> None:
    in_each([None])


def test_some_locks() -> None:
    in_a_block = next(lock for lock in under.locks if under.block_bytes[lock])
    some = [under.plain, under.biased, under.asymmetric, in_a_block]
    in_each(list(under.locks) if under.is_full else some)


if __name__ == "__main__":
    sys.exit(run_tests(dict(globals())))
