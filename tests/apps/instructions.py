#!/usr/bin/env python3
"""How many instructions an uncontended read, or mutex, takes through the library: no hot path may grow unseen.

    instructions.py LIBRARY APPS

Counted by callgrind, so the same on every run, however busy the machine is. Exit status 1 if a lock takes more than
its bound. To measure all that a lock costs: tools/measure_costs.py.
"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

library, apps = (Path(a).resolve() for a in sys.argv[1:3])

# Of a pair of acquire and release, with the loop around it; glibc's own takes 69.
BOUNDS = {
    "pthread": 75,
    "pf-t": 45,
    "ba": 45,
    "bravo-pthread": 60,
    "bravo-pf-t": 60,
    "bravo-ba": 60,
    "bravo-cohort": 70,
    "cohort": 75,
    "per-cpu": 135,
    "rlu": 87,
    "rlu-asym": 95,
    "bravo-asym-ba": 92,
    # glibc's mutex takes 63.
    "mutex:pthread": 70,
    "mutex:ticket": 62,
    "mutex:mcs": 90,
    "mutex:clh": 88,
}


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
    with ThreadPoolExecutor(2) as pool:
        found = dict(zip(BOUNDS, pool.map(instructions, BOUNDS), strict=True))
    for lock, count in found.items():
        print(f"{'ok     ' if count <= BOUNDS[lock] else 'FAILED '} {lock}: {count:.1f}, bound {BOUNDS[lock]}")
    return 0 if all(count <= BOUNDS[lock] for lock, count in found.items()) else 1


if __name__ == "__main__":
    sys.exit(main())
