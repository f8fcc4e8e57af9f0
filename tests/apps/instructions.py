#!/usr/bin/env python3
"""Counts the instructions of an uncontended read, write or mutex through the library: no hot path may grow unseen.

    instructions.py LIBRARY REGISTRY APPS [--full | LOCK...]

LOCK is the name of a row, of a mutex with `mutex:` before it. By default these are the locks that are made of no other
one, and one of each kind of those that are; with --full all. callgrind counts, so the number is the same on every run,
however busy the machine is. Exit status 1 if a lock takes more than the bound that it names itself (LockInfo in its
header), or names none; a bound for writes is optional. The bounds are those of gcc 12; what another compiler makes may
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


def listed(registry: Path) -> dict[str, dict]:
    """The rows of all locks that are not chosen by others, of mutexes with `mutex:` before the name."""
    found = json.loads(subprocess.run([registry], check=True, capture_output=True, text=True).stdout)
    kinds = (("", found["rwlocks"]), ("mutex:", found["mutexes"]))
    return {kind + row["name"]: row for kind, rows in kinds for row in rows if not row["chosen"]}


def bounds(registry: Path) -> dict[str, int]:
    """The most instructions for an acquire and a release, with the loop. glibc's rwlock takes 69, its mutex 63."""
    return {lock: row["most_instructions"] for lock, row in listed(registry).items()}


def write_bounds(registry: Path) -> dict[str, int]:
    """The same of writes, for those that name one. glibc's rwlock takes 85."""
    return {
        lock: row["most_write_instructions"] for lock, row in listed(registry).items() if row["most_write_instructions"]
    }


def some(rows: dict[str, dict]) -> list[str]:
    """A lock over others adds the same to each, and is measured over the cheapest."""
    found: dict[str, str] = {}
    for lock, row in sorted(rows.items(), key=lambda item: item[1]["most_instructions"]):
        kind, _, name = lock.rpartition(":")
        # What is before the name of a lock, as in bravo-ba.
        dashes = [at for at, letter in enumerate(name) if letter == "-"]
        over = next((name[:at] for at in dashes if lock.replace(name[: at + 1], "", 1) in rows), "")
        if not row.get("same_code_as"):
            found.setdefault(f"{kind}:{over}" if over else lock, lock)
    return list(found.values())


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
        check=True,
    )
    return round(int(re.search(r"Collected : (\d+)", done.stderr).group(1)) / pairs, 1)


def of_lock(library: Path, apps: Path, lock: str, mode: str = "read") -> float:
    kind, _, name = lock.rpartition(":")
    return instructions(library, apps, kind or mode, {f"LOCKSWAP_{(kind or 'rwlock').upper()}": name})


def main() -> int:
    library, registry, apps = (Path(a).resolve() for a in sys.argv[1:4])
    slack = 0 if COMPILER.search(library.read_bytes()) else SLACK
    reads = bounds(registry)
    names = sys.argv[4:] or some(listed(registry))
    if names == ["--full"]:
        names = list(reads)
    if unknown := set(names) - set(reads):
        sys.exit(f"instructions.py: {registry} has no row {', '.join(sorted(unknown))}; it has {', '.join(reads)}")
    most = {(lock, "read"): bound for lock, bound in reads.items()}
    most |= {(lock, "write"): bound for lock, bound in write_bounds(registry).items()}
    most = {case: bound and bound + slack for case, bound in most.items() if case[0] in names}
    unnamed = [lock for lock, bound in reads.items() if not bound]
    for lock in unnamed:
        print(f"FAILED  {lock}: no bound is named")
    with ThreadPoolExecutor(2) as pool:
        found = dict(zip(most, pool.map(lambda case: of_lock(library, apps, *case), most), strict=True))
    for (lock, mode), count in found.items():
        bound = most[lock, mode]
        name = f"{lock}, {mode}" if mode == "write" else lock
        print(f"{'ok     ' if count <= bound else 'FAILED '} {name}: {count:.1f}, bound {bound}")
    return 1 if unnamed or any(count > most[case] for case, count in found.items()) else 0


if __name__ == "__main__":
    sys.exit(main())
