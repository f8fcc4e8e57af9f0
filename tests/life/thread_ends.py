#!/usr/bin/env python3
"""Threads that begin and end in every way there is: a program sees what it sees under glibc.

    thread_ends.py LIBRARY REGISTRY FOLDER

Exit status 1 if a test fails.
"""

import sys

from choices import choices
from under import emulated, need, run_tests, under_test

under = under_test("LIBRARY REGISTRY FOLDER")
# qemu 10.0 fails itself where /proc/self/maps is opened after the first thread has ended. A recording does that.
NOT_EMULATED = {("a profile", "main-exits"), ("a profile", "main-is-cancelled")}


def test_every_case() -> None:
    cases = under.run_well("thread_ends", lock=None).stdout.split()
    want = {case: under.run("thread_ends", case, lock=None) for case in cases}
    for case, glibcs in want.items():
        need("wrong" not in glibcs.stdout, f"{case}, without lockswap: {glibcs.stdout!r}")
    for choice, variables in choices(under):
        for case, glibcs in want.items():
            if emulated.EMULATOR and (choice, case) in NOT_EMULATED:
                continue
            mine = under.run("thread_ends", case, **variables)
            need(mine.stdout == glibcs.stdout, f"{choice}: {case}: {mine.stdout!r}, without lockswap {glibcs.stdout!r}")
            status = f"status {mine.returncode}, without lockswap {glibcs.returncode}"
            need(mine.returncode == glibcs.returncode, f"{choice}: {case}: {status}, said {mine.stderr!r}")


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
