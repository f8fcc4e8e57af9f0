#!/usr/bin/env python3
"""Counts the instructions of an uncontended read, or mutex, through the library: no hot path may grow unseen.

    instructions.py LIBRARY REGISTRY APPS [LOCK...]

LOCK is the name of a row, of a mutex with `mutex:` before it; by default all locks are measured. callgrind counts, so
the number is the same on every run, however busy the machine is. Exit status 1 if a lock takes more than the bound that
it names itself (LockInfo in its header), or names none. The bounds are those of gcc 12; what another compiler makes may
have SLACK more. To measure what a lock costs: `lockswap compare -w uncontended`.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

COMPILER = re.compile(rb"GCC: \([^)]*\) 12\.")
SLACK = 3


def bounds(registry: Path) -> dict[str, int]:
    """The most instructions for an acquire and a release, with the loop. glibc's rwlock takes 69, its mutex 63."""
    listed = json.loads(subprocess.run([registry], check=True, capture_output=True, text=True).stdout)
    kinds = (("", listed["rwlocks"]), ("mutex:", listed["mutexes"]))
    return {kind + row["name"]: row["most_instructions"] for kind, rows in kinds for row in rows if not row["chooses"]}


def instructions(library: Path, apps: Path, mode: str, variables: Mapping[str, str]) -> float:
    """Per pair, after the program has warmed up. What else a round has to do is a fraction of an instruction."""
    pairs = 20_000
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*measured_round*"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
    environment |= {"LD_PRELOAD": str(library), **variables}
    done = subprocess.run(
        [*command, apps / "uncontended", mode, str(pairs), "1"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return round(int(re.search(r"Collected : (\d+)", done.stderr).group(1)) / pairs, 1)


def of_lock(library: Path, apps: Path, lock: str, mode: str = "read") -> float:
    kind, _, name = lock.rpartition(":")
    return instructions(library, apps, kind or mode, {f"LOCKSWAP_{(kind or 'rwlock').upper()}": name})


def main() -> int:
    library, registry, apps = (Path(a).resolve() for a in sys.argv[1:4])
    slack = 0 if COMPILER.search(library.read_bytes()) else SLACK
    most = {lock: bound and bound + slack for lock, bound in bounds(registry).items()}
    if unknown := set(sys.argv[4:]) - set(most):
        sys.exit(f"instructions.py: {registry} has no row {', '.join(sorted(unknown))}; it has {', '.join(most)}")
    most = {lock: bound for lock, bound in most.items() if lock in sys.argv[4:] or not sys.argv[4:]}
    with ThreadPoolExecutor(2) as pool:
        found = dict(zip(most, pool.map(lambda lock: of_lock(library, apps, lock), most), strict=True))
    for lock, count in found.items():
        print(
            f"{'ok     ' if count <= most[lock] else 'FAILED '} {lock}: {count:.1f}, bound {most[lock] or 'not named'}"
        )
    return 0 if all(count <= most[lock] for lock, count in found.items()) else 1


if __name__ == "__main__":
    sys.exit(main())
