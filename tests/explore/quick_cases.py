#!/usr/bin/env python3
"""Explores the quick cases, two processes at once.

quick_cases.py BUILD-DIRECTORY [MEMORY PATTERN...]; MEMORY is a memory model, under which those cases alone are explored
whose names a pattern is a part of.
With TESTS_QUARTER=0..3 in the environment: the cases of exclusion and lost wake-ups (under the default model), those of
the locks whose files differ from main or came with the last commit, and one quarter of the others. A file of every lock
concerns none in particular: all cases take an hour of two processors, and are part of ./run.sh test --full.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from orders import FOLDERS, INCLUDED, git
from patched import ROOT

EACH_TIME = re.compile(r"/(1w2r|2w1r|2w|3w|signal|broadcast)$")
NEVER = re.compile(r"(?!)")
ADDRESS_SPACE = ("src/address_space/", "tests/explore/address_space_cases.cpp", "tests/address_space/model.h")
DESIGNS = re.findall(r'"([^"]+)"', (ROOT / "src/address_space/designs.def").read_text(encoding="utf-8"))
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
OF_ALL = (
    "locks/rw/bravo.h",
    "posix/rw_contract.h",
    "posix/mutex_contract.h",
    "posix/condvar.h",
    "platform/concept.h",
    "wait/park.h",
)
LISTED = re.compile(r'^(?:RW_LOCK|MUTEX)\("([^"]+)", \w+, "([^"]+)"', re.MULTILINE)


@cache
def includes(header: str) -> frozenset[str]:
    """The headers of src/ that this one is made of, itself among them."""
    path = ROOT / "src" / header
    named = INCLUDE.findall(path.read_text(encoding="utf-8")) if path.exists() else []
    return frozenset({header}.union(*(includes(other) for other in named)))


def locks_of(header: str) -> list[str]:
    """The locks of the lists that this header is a part of; none if it is a part of what all of them are used by."""
    if any(header in includes(one) for one in OF_ALL):
        return []
    lists = [(ROOT / f"src/registry/{kind}_list.def").read_text(encoding="utf-8") for kind in ("rw", "mutex")]
    return [name for text in lists for name, its in LISTED.findall(text) if header in includes(its)]


def changed_files() -> list[str]:
    base = git("merge-base", "HEAD", "main")
    known = base and base != git("rev-parse", "HEAD")
    return git("diff", "--name-only", base if known else "HEAD~1").splitlines()


def changed_locks(files: list[str]) -> list[str] | None:
    """The locks that these files are of; None if one of them concerns every case."""
    explored = ("src/multicore/", "tests/explore/", *(f"src/{name}/" for name in FOLDERS))
    included = tuple(f"include/{name}" for name in INCLUDED)
    locks: list[str] = []
    for file in files:
        if file.startswith(ADDRESS_SPACE):
            # Its cases are its own: a design's file concerns that design, the others each.
            name = Path(file).stem.replace("_", "-")
            locks.append(name if name in DESIGNS else "address-space")
            continue
        if file.startswith((*explored, *included)) and file.endswith((".h", ".hpp", ".cpp", ".in", ".def")):
            of = locks_of(file.removeprefix("src/"))
            if not of:
                return None
            locks += of
    return locks


def chosen(cases: list[str], quarter: int, locks: list[str] | None, always: re.Pattern = EACH_TIME) -> list[str]:
    """locks: those whose cases are all taken; None: all locks are concerned, as if none was."""
    concerned = re.compile(rf"(?:^|/|bravo-|asym-)({'|'.join(map(re.escape, locks))})/") if locks else None
    others = 0
    taken = []
    for case in cases:
        if always.search(case) or (concerned and concerned.search(case)):
            taken.append(case)
        else:
            if others % 4 == quarter:
                taken.append(case)
            others += 1
    return taken


def main() -> int:
    explorer = Path(sys.argv[1]) / "bin/lockswap-explore"
    ran = subprocess.run([explorer, "list", "--quick"], check=True, capture_output=True, text=True)
    memory, patterns = sys.argv[2:3], sys.argv[3:]
    cases = all_cases = [name for name in ran.stdout.split() if not memory or any(p in name for p in patterns)]
    if "TESTS_QUARTER" in os.environ:
        always = NEVER if memory else EACH_TIME
        cases = chosen(all_cases, int(os.environ["TESTS_QUARTER"]), changed_locks(changed_files()), always)
    print(f"{len(cases)} of {len(all_cases)} quick cases", flush=True)

    def explore(names: list[str]) -> subprocess.CompletedProcess[str]:
        command = [explorer, "run", "--quick", *(word for m in memory for word in ("--memory", m))]
        command += (f"={name}" for name in names)
        return subprocess.run(command, capture_output=True, text=True, check=False)

    with ThreadPoolExecutor() as pool:
        runs = list(pool.map(explore, (cases[0::2], cases[1::2])))
    for half in runs:
        print(half.stdout + half.stderr, end="")
    return 0 if all(half.returncode == 0 for half in runs) else 1


if __name__ == "__main__":
    sys.exit(main())
