#!/usr/bin/env python3
"""A lock that is released while the threads that wait for it are stopped by a signal.

    stopped.py LIBRARY REGISTRY FOLDER [--full]

Under glibc's locks the next thread that wants it gets it. The same holds under `auto`, on each machine. The locks
that the registry says are handed off are stuck until the stopped thread goes on, and work then; the documents say so.
--full: each wait policy and more threads, else one of these by turns. Exit status 1 if a test fails.
"""

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "life"))

from under import need, run_tests, under_test

under = under_test("LIBRARY REGISTRY FOLDER [--full]")
FULL = "--full" in sys.argv[4:]
WAITS = ("park", "yield", "spin")
# How often the program looks, with a ms between: if the lock must be got, and if threads must be stuck.
PATIENCE, SURE = 20000, 10
LISTED = json.loads(subprocess.run([sys.argv[2]], check=True, capture_output=True, text=True).stdout)


def waits(turn: int) -> tuple[str, ...]:
    return WAITS if FULL else (WAITS[turn % len(WAITS)],)


def outcome(kind: str, threads: int, looks: int, **how: object) -> str:
    return under.run_well("stopped", kind, threads, looks, **how).stdout.strip()


def test_glibc_goes_on() -> None:
    for kind in ("mutex", "write", "write-read"):
        need(outcome(kind, 3, PATIENCE, lock=None) == "went on", kind)


def test_auto_goes_on_whatever_the_machine() -> None:
    for topology in ("1x1x1", "1x4x1", "2x4x1", "4x2x2"):
        how = {"lock": "mutex:auto", "LOCKSWAP_RWLOCK": "auto", "LOCKSWAP_TOPOLOGY": topology}
        for kind in ("mutex", "write", "write-read"):
            need(outcome(kind, 3, PATIENCE, **how) == "went on", f"{topology}: {kind}")


def test_each_lock_does_what_the_registry_says() -> None:
    for kind, prefix, table in (("mutex", "mutex:", "mutexes"), ("write", "", "rwlocks")):
        for turn, row in enumerate(LISTED[table]):
            for wait in waits(turn):
                want = "stuck" if row["hands_off"] else "went on"
                looks = SURE if row["hands_off"] else PATIENCE
                said = outcome(kind, 3 if FULL else 1, looks, lock=prefix + row["name"], LOCKSWAP_WAIT=wait)
                need(said == want, f"{table} {row['name']}, {wait}: {said}, the registry says {want}")


sys.exit(run_tests(globals()))
