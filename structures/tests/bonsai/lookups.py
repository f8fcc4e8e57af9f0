#!/usr/bin/env python3
"""Counts instructions and cache misses of a lookup, by callgrind, of the Bonsai tree and of std::map under a rwlock.

    lookups.py LOOKUP-COST [--pages]

The caches are those of a small core, whatever the machine has: 32 KB, and 512 KB behind it. Exit status 1 if the tree
takes more than 0.95 of the map's instructions, or of its misses where the map does not fit into these caches.
--pages: pages of 4 KB in place of lines, of which the first cache has 64 and the second 2048, as a processor's tables
of pages have; nothing is held to a bound then.
"""

import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LOOKUPS = 20000
CACHES = ("--D1=32768,8,64", "--LL=524288,8,64")
PAGES = ("--I1=32768,8,64", "--D1=262144,64,4096", "--LL=8388608,8,4096")
FIGURES = {
    "instructions": r"I +refs: +([\d,]+)",
    "first misses": r"D1 +misses: +([\d,]+)",
    "second misses": r"LLd misses: +([\d,]+)",
    "mispredictions": r"Mispredicts: +([\d,]+)",
}
MOST = 0.95


def count(program: Path, caches: Sequence[str], structure: str, regions: int) -> dict[str, float]:
    """The figures of one lookup."""
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no"]
    valgrind += ["--cache-sim=yes", "--branch-sim=yes", *caches]
    command = [*valgrind, "--toggle-collect=*lookups<*", program, structure, str(regions), str(LOOKUPS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {name: int(re.search(p, done.stderr)[1].replace(",", "")) / LOOKUPS for name, p in FIGURES.items()}


def main() -> int:
    program = Path(sys.argv[1]).resolve()
    of_pages = sys.argv[2:] == ["--pages"]
    caches = PAGES if of_pages else CACHES
    subjects = [(structure, regions) for regions in (1000, 100000) for structure in ("path", "rotations", "map")]
    with ThreadPoolExecutor(2) as pool:
        found = dict(zip(subjects, pool.map(lambda s: count(program, caches, *s), subjects), strict=True))
    good = True
    for (structure, regions), figures in found.items():
        print(f"{structure}, {regions} regions: {', '.join(f'{n} {v:.2f}' for n, v in figures.items())}")
        base = found["map", regions]
        held = ["instructions", *(("first misses", "second misses") if regions == 100000 else ())]
        for name in held if structure != "map" and not of_pages else ():
            # Some, or the counting itself does not work.
            if not 0 < figures[name] <= MOST * base[name]:
                good = False
                print(f"FAILED  {name}: {figures[name]:.2f}, more than {MOST} of {base[name]:.2f}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
