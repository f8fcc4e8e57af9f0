#!/usr/bin/env python3
"""Counts the cache lines that an operation writes and the next fault of another thread touches, by a trace of accesses.

    shared_lines.py [--where] SHARED-LINES [DESIGN...]

Operation and fault are in different regions. The fault fetches each of these lines from the other thread's processor,
whatever the design locks. Without designs: those that have a bound; exit status 1 if one has more than that, or none.
--where prints the lines.
"""

import argparse
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

LINE = 64
TURNS = 40
ACCESS = re.compile(r" ([LSM]) +([0-9a-f]+),(\d+)")
# valgrind's stack of the main thread: two threads have stacks of their own.
STACK = range(0x1FFE000000, 0x2000000000)
# pure-rcu: the root of the regions' tree, and the node that it leads to. per-vma: and the space's number. hybrid-rcu:
# the lock of the tree, which is in one line with it, and nodes, of which malloc may put one across two lines.
MOST = {"hybrid-rcu": 4, "pure-rcu": 2, "per-vma": 3}


def accesses(lines: Iterable[str]) -> Iterator[tuple[bool, int, int]]:
    """Yields whether each access writes, its address and its size; leaves out accesses to the stack."""
    for line in lines:
        if (found := ACCESS.match(line)) and int(found[2], 16) not in STACK:
            yield found[1] != "L", int(found[2], 16), int(found[3])


def fetched(lines: Iterable[str], mark: int) -> Iterator[set[int]]:
    """Yields, for each turn, the lines that its fault touches and its operation wrote."""
    following = {"": "operation", "operation": "fault", "fault": ""}
    now = ""
    written: set[int] = set()
    touched: set[int] = set()
    for writes, address, size in accesses(lines):
        if address == mark and writes:
            if now == "fault":
                yield written & touched
                written, touched = set(), set()
            now = following[now]
            continue
        span = range(address // LINE, (address + size - 1) // LINE + 1)
        if now == "operation" and writes:
            written.update(span)
        elif now == "fault":
            touched.update(span)


def count(program: Path, design: str) -> tuple[float, Counter[int]]:
    """Lines a fault, in the second half of the turns; and in how many turns each."""
    command = ["valgrind", "--tool=lackey", "--trace-mem=yes", "--log-fd=2", program, design, str(TURNS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    mark = int(re.search(r"mark 0x([0-9a-f]+) refused 0", done.stdout)[1], 16)
    # What was before the first turn, which is most of it, touches other lines.
    turns = list(fetched(done.stderr[done.stderr.index(f" {mark:08x},") - 3 :].splitlines(), mark))
    assert len(turns) == TURNS, "the marks are not all in the trace"
    which = Counter(line for turn in turns[TURNS // 2 :] for line in turn)
    return which.total() / (TURNS - TURNS // 2), which


def main() -> int:
    parser = argparse.ArgumentParser(description="Cache lines that an operation writes and the next fault touches.")
    parser.add_argument("--where", action="store_true", help="print the lines")
    parser.add_argument("program", type=Path, metavar="SHARED-LINES")
    parser.add_argument("design", nargs="*", metavar="DESIGN", help=f"default: {', '.join(MOST)}")
    args = parser.parse_args()
    good = True
    for design in args.design or MOST:
        lines, which = count(args.program.resolve(), design)
        # At least one, the region's or the lock's, or the counting itself does not work.
        fits = 1 <= lines <= MOST.get(design, 0)
        good = good and fits
        print(f"{'ok     ' if fits else 'FAILED '} {design}: {lines:g}, bound {MOST.get(design, 'none')}")
        if args.where:
            print("".join(f"  {line * LINE:x} in {times} turns\n" for line, times in sorted(which.items())), end="")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
