#!/usr/bin/env python3
"""Counts the instructions of an uncontended read, or mutex, through the library: no hot path may grow unseen.

    instructions.py LIBRARY REGISTRY APPS

callgrind counts, so the number is the same on every run, however busy the machine is. Exit status 1 if a lock takes
more than the bound that it names itself (LockInfo in its header), or names none. To measure all that a lock costs:
tools/measure_costs.py.
"""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

library, registry, apps = (Path(a).resolve() for a in sys.argv[1:4])


def bounds() -> dict[str, int]:
    """Of a pair of acquire and release, with the loop around it. glibc's own take 69, its mutex 63."""
    listed = json.loads(subprocess.run([registry], check=True, capture_output=True, text=True).stdout)
    kinds = (("", listed["rwlocks"]), ("mutex:", listed["mutexes"]))
    return {kind + row["name"]: row["most_instructions"] for kind, rows in kinds for row in rows if not row["chooses"]}


def collected(lock: str, pairs: int) -> int:
    kind, _, name = lock.rpartition(":")
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", apps / "uncontended", kind or "read"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
    environment |= {"LD_PRELOAD": str(library), f"LOCKSWAP_{(kind or 'rwlock').upper()}": name}
    done = subprocess.run(
        [*command, str(pairs), "1"], env=environment, capture_output=True, text=True, timeout=300, check=True
    )
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def instructions(lock: str) -> float:
    """What does not depend on the pairs cancels out. The program adds a tenth to warm up."""
    return (collected(lock, 11_000) - collected(lock, 1_000)) / 11_000


def main() -> int:
    most = bounds()
    with ThreadPoolExecutor(2) as pool:
        found = dict(zip(most, pool.map(instructions, most), strict=True))
    for lock, count in found.items():
        print(
            f"{'ok     ' if count <= most[lock] else 'FAILED '} {lock}: {count:.1f}, bound {most[lock] or 'not named'}"
        )
    return 0 if all(count <= most[lock] for lock, count in found.items()) else 1


if __name__ == "__main__":
    sys.exit(main())
