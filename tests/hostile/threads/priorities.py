#!/usr/bin/env python3
"""Which thread gets a lock next, of those that have real-time priorities: what docs/limits.md says.

    priorities.py LIBRARY REGISTRY FOLDER

Under glibc's locks, and so under `auto`, and under those of which a running thread takes a free one, the thread of the
highest priority; under locks that are handed off the one that came first. A reader waits for a writer that waits, if
that has its priority or a higher one, unless readers go first in that lock. Exit status 1 if a test fails.
"""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "life"))

from under import Skip, need, run_tests, under_test

under = under_test("LIBRARY REGISTRY FOLDER")
LISTED = json.loads(subprocess.run([sys.argv[2]], check=True, capture_output=True, text=True).stdout)
HIGHEST_FIRST, AS_THEY_CAME = "3 2 1", "1 2 3"
# Policy, the reader's priority, the waiting writer's.
BEHIND = (("fifo", 0, 1), ("fifo", 1, 1), ("rr", 1, 1))
AHEAD = (("fifo", 2, 1), ("rr", 1, 0), ("other", 0, 0))
# A reader comes in after 20 ms at the latest where it does; a slow machine is waited for.
LONG_ENOUGH_MS, SURELY_MS = 500, 30_000


def order(kind: str, *words: object, **how: object) -> str:
    result = under.run("priorities", kind, *words, LOCKSWAP_WAIT="park", **how)
    if result.returncode == 77:
        raise Skip("real-time policies are not allowed here")
    need(result.returncode == 0, f"{kind} {words} {how}: {result.stderr}")
    return result.stdout.strip()


def check_readers(lock: str, readers_first: bool, **how: object) -> None:
    # A writer of per-cpu waits for the readers of one processor after the other, and others come in meanwhile.
    for words in AHEAD if "per-cpu" in lock else (*BEHIND, *AHEAD):
        waits = words in BEHIND and not readers_first
        said = order("read", *words, LONG_ENOUGH_MS if waits else SURELY_MS, lock=lock, **how)
        need(said == ("waits" if waits else "in"), f"{lock}, a reader, {words}: {said}")


def test_glibc_serves_the_highest_priority() -> None:
    for kind in ("mutex", "write"):
        said = order(kind, lock=None)
        need(said == HIGHEST_FIRST, f"{kind}: {said}")


def test_auto_serves_the_highest_priority() -> None:
    for topology in ("1x1x1", "1x4x1", "2x4x1"):
        for kind in ("mutex", "write"):
            said = order(kind, lock="mutex:auto", LOCKSWAP_RWLOCK="auto", LOCKSWAP_TOPOLOGY=topology)
            need(said == HIGHEST_FIRST, f"{topology}: {kind}: {said}")


def test_the_other_locks_serve_as_the_registry_says() -> None:
    for kind, prefix, table in (("mutex", "mutex:", "mutexes"), ("write", "", "rwlocks")):
        for row in LISTED[table]:
            said = order(kind, lock=prefix + row["name"])
            if "gcr-" in row["name"]:  # the lanes before the line change the order, by processor
                need(sorted(said.split()) == ["1", "2", "3"], f"{table} {row['name']}: {said}")
                continue
            want = AS_THEY_CAME if row["hands_off"] else HIGHEST_FIRST
            need(said == want, f"{table} {row['name']}: {said}, not {want}")


def test_auto_lets_no_reader_pass_a_writer_of_its_priority() -> None:
    for topology in ("1x1x1", "1x4x1", "2x4x1"):
        check_readers("auto", False, LOCKSWAP_TOPOLOGY=topology)


def test_the_other_locks_do_as_they_say() -> None:
    def check(row: dict) -> None:
        check_readers(row["name"], row["writers_can_starve"] or "readers first" in row["fairness"])

    ours = [row for row in LISTED["rwlocks"] if not row["passes_through"]]
    with ThreadPoolExecutor(8) as pool:  # they mostly wait
        list(pool.map(check, ours))


sys.exit(run_tests(globals()))
