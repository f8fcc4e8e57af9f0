#!/usr/bin/env python3
"""Keys of thread-specific data: lockswap takes none, so a program sees what it sees under glibc.

    keys.py LIBRARY REGISTRY FOLDER

Exit status 1 if a test fails.
"""

import sys

from choices import choices
from under import need, run_tests, under_test

under = under_test("LIBRARY REGISTRY FOLDER")


def same(how: str) -> None:
    want = under.run_well("keys", how, lock=None).stdout.splitlines()
    for choice, variables in choices(under):
        got = under.run_well("keys", how, **variables).stdout.splitlines()
        for mine, glibcs in zip(got, want, strict=True):
            need(mine == glibcs, f"{choice}: {mine!r}, without lockswap {glibcs!r}")


def test_every_number_and_every_end_of_a_thread() -> None:
    same("sweep")


def test_a_key_that_was_never_made() -> None:
    same("stray")


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
