#!/usr/bin/env python3
"""Which thread gets a lock next, of those that wait with real-time priorities: what docs/limits.md says.

    priorities.py LIBRARY REGISTRY FOLDER

Under glibc's locks, and so under `auto`, and under those of which a running thread takes a free one, the thread of the
highest priority; under locks that are handed off the one that came first. Exit status 1 if a test fails.
"""

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "life"))

from under import Skip, need, run_tests, under_test

under = under_test("LIBRARY REGISTRY FOLDER")
LISTED = json.loads(subprocess.run([sys.argv[2]], check=True, capture_output=True, text=True).stdout)
HIGHEST_FIRST, AS_THEY_CAME = "3 2 1", "1 2 3"


def order(kind: str, **how: object) -> str:
    result = under.run("priorities", kind, LOCKSWAP_WAIT="park", **how)
    if result.returncode == 77:
        raise Skip("real-time policies are not allowed here")
    need(result.returncode == 0, f"{kind} {how}: {result.stderr}")
    return result.stdout.strip()


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


sys.exit(run_tests(globals()))
