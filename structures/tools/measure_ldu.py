"""All rows of the table in structures/docs/ldu.md, on this machine: what `ldubench` says, row by row.

structures/tools/measure_ldu.py [--seconds S] [--rounds N] [BUILD-DIRECTORY]

Some eight minutes with the defaults; --seconds 0.02 --rounds 6 shows in about one that everything runs.
Nothing else may run on the machine meanwhile. Each line of figures is printed as ldubench prints it, with the row
before it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAPS = "pldu,gldu,harris-unordered,rwlock,mutex"


def names(build: Path, kind: str) -> list[str]:
    """The registry's locks of a kind."""
    listed = subprocess.run([build / "bin/lockswap-registry"], capture_output=True, text=True, check=True, timeout=60)
    return [lock["name"] for lock in json.loads(listed.stdout)[kind]]


def rows(seconds: float, rounds: int, every: tuple[list[str], list[str]]) -> Iterator[tuple[str, str, dict[str, str]]]:
    """What a row is called, ldubench's options, and the lock."""
    turns = f"--seconds {seconds} --rounds {rounds}"
    few = f"--seconds {seconds} --rounds {max(6, rounds // 2)}"
    glibc: dict[str, str] = {}
    yield "insert and remove of one object", f"--mix pair --threads 1 {turns} --with pldu,gldu,stamped,mutex", glibc
    yield "N inserts and the read that applies them", f"--inserts --rounds {rounds}", glibc
    yield "a reader after many pending updates", f"--late --rounds {rounds}", glibc
    for mix in ("aim7", "exim", "lmbench", f"trace --trace {ROOT}/structures/apps/traces/build.proctrace.gz"):
        yield (
            f"8 threads beside 2, 0.1 % reads, {mix.split()[0]}; share absorbed",
            f"--mix {mix} --threads 8 --beside-threads 2 --reads 0.001 {few} --with {MAPS}",
            glibc,
        )
    for reads in (0.1, 0.5):
        yield f"{reads * 100:.0f} % reads", f"--mix exim --threads 2 --reads {reads} {few} --with {MAPS}", glibc
    for kind, locks in zip(("RWLOCK", "MUTEX"), every, strict=True):
        for lock in locks:
            with_lock = {f"LOCKSWAP_{kind}": lock}
            pair = f"pldu,{kind.lower()}"
            for threads in (2, 8):
                line = f"--mix exim --threads {threads} --reads 0.001 --rounds 6 --with {pair}"
                short = f" --seconds {max(0.01, seconds / 4)}"
                yield f"{threads} threads, 0.1 % reads, {kind.lower()} {lock}", line + short, with_lock


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--seconds", type=float, default=0.2, help="how long a round of one map takes")
    options.add_argument("--rounds", type=int, default=13, help="rounds of the rows without a lock's name")
    options.add_argument("build", nargs="?", type=Path, default=ROOT / "build")
    given = options.parse_args()
    library = given.build / "liblockswap.so"
    every = (names(given.build, "rwlocks"), names(given.build, "mutexes"))
    began = time.monotonic()
    failed = 0
    for row, line, lock in rows(given.seconds, given.rounds, every):
        environment = os.environ | lock | ({"LD_PRELOAD": str(library)} if lock else {})
        ran = subprocess.run(
            [given.build / "apps/ldubench", *line.split()], capture_output=True, text=True, env=environment, check=False
        )
        print(f"\n# {row}\n# ldubench {line}\n{ran.stdout}", end="", flush=True)
        if ran.returncode != 0:
            failed += 1
            print(f"# FAILED, status {ran.returncode}: {ran.stderr}", flush=True)
    print(f"\n# {time.monotonic() - began:.0f} s, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
