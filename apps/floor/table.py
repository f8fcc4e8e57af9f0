#!/usr/bin/env python3
"""What a pair of calls through the preload costs, taken apart: prints the table of
results/notes/2026-11-floor-of-a-preload.md.

    build/venv/bin/python apps/floor/table.py ba bravo-ba auto mutex:auto

Rows are the steps of `build/apps/floor`, and pairs of the program's own locks: glibc's, the same behind the preload
(pthread), and each LOCK. In each round all rows are run in random order, and of each run the fastest of five loops
counts. Nanoseconds are those of the thread's CPU time; ratios are paired by rounds, and intervals are at 95 %, as in
`lockswap compare`. Measure on a quiet machine; it takes about a minute.
"""

import argparse
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from lockswap.base.choice import BASELINES, MUTEX, MUTEX_PTHREAD, NONE, PTHREAD, RWLOCK, Choice
from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.base.registry import Registry
from lockswap.base.selection import parse
from lockswap.findings.stats import MIN_PAIRS, Ratio, Shift, paired_ratio, shift
from lockswap.run.preload import clean_environment, lock_variables

# The pairs of the program's own locks, and which kind of lock they take.
OWN = {"read": RWLOCK, "write": RWLOCK, "mutex": MUTEX}
NOT_HERE = 77  # the program's status if the kernel lets nobody count


@dataclass
class Row:
    pair: str
    what: str
    lock: str = NONE
    ns: list[float] = field(default_factory=list)
    instructions: str = ""


@dataclass(frozen=True)
class Program:
    path: Path
    library: Path
    arguments: tuple[str, ...] = ()

    @classmethod
    def find(cls, paths: Paths, arguments: Iterable[str]) -> "Program":
        path = paths.apps / "floor"
        if not path.is_file():
            raise UserError(f"{path} is not there; build it with './run.sh build'")
        return cls(path, paths.library, tuple(arguments))

    def steps(self) -> list[Row]:
        return [Row(*line.split("\t")) for line in self._run(NONE, "--list").stdout.splitlines()]

    def count(self, row: Row) -> None:
        done = self._run(row.lock, "--pair", row.pair, "--instructions", *self.arguments)
        if done.returncode == NOT_HERE:
            print(done.stderr.strip(), file=sys.stderr)
        else:
            row.instructions = f"{float(done.stdout.split()[1]):g}"

    def time(self, row: Row) -> None:
        done = self._run(row.lock, "--pair", row.pair, *self.arguments)
        row.ns.append(min(float(ns) for ns in re.findall(r"^ns (.+)$", done.stdout, re.MULTILINE)))

    def _run(self, lock: str, *words: str) -> subprocess.CompletedProcess[str]:
        variables = lock_variables(self.library, Choice.of(lock), None, os.environ.get("LD_PRELOAD", ""))
        env = clean_environment(os.environ) | variables
        done = subprocess.run([self.path, *words], env=env, capture_output=True, text=True)
        if done.returncode not in (0, NOT_HERE):
            raise UserError(f"floor {' '.join(words)}, {lock}: status {done.returncode}: {done.stderr.strip()}")
        return done


def chosen(registry: Registry, typed: Iterable[str]) -> list[str]:
    """The labels of the locks that are compared with glibc's."""
    labels = list(dict.fromkeys(parse(registry, lock).label for lock in typed))
    labels = [label for label in labels if label not in BASELINES]
    for label in labels:
        if not Choice.of(label).tested & set(OWN.values()):
            raise UserError(f"'{label}' is no reader-writer lock and no mutex")
    return labels


def own_rows(labels: Iterable[str]) -> list[Row]:
    """glibc's pairs, the same behind the preload, and those of each lock."""
    rows = []
    for pair, kind in OWN.items():
        pthread = MUTEX_PTHREAD if kind == MUTEX else PTHREAD
        rows += [Row(pair, f"{pair}, glibc's"), Row(pair, f"{pair}, glibc's behind the preload", pthread)]
        rows += [Row(pair, f"{pair}, `{label}`", label) for label in labels if kind in Choice.of(label).tested]
    return rows


def figure(found: Shift | Ratio) -> str:
    """The estimate, with its interval if there are enough rounds."""
    if found.n < MIN_PAIRS:
        return f"{found.estimate:.2f}"
    return f"{found.estimate:.2f} ({found.low:.2f}, {found.high:.2f})"


def lines(rows: list[Row]) -> Iterable[str]:
    glibcs = {row.pair: row.ns for row in rows if row.pair in OWN and row.lock == NONE}
    heads = ["a pair of calls", "ns", *(f"to glibc's {pair}" for pair in OWN), "instructions"]
    yield "| " + " | ".join(heads) + " |"
    yield "| --- |" + " ---: |" * (len(heads) - 1)
    for row in rows:
        # A step is compared with all of glibc's pairs, a lock with glibc's for the same pair.
        compared = OWN if row.pair not in OWN else [row.pair] if row.lock != NONE else []
        ratios = [figure(paired_ratio(row.ns, glibcs[pair])) if pair in compared else "" for pair in OWN]
        yield "| " + " | ".join([row.what, figure(shift(row.ns)), *ratios, row.instructions]) + " |"


def positive(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number above 0")
    return int(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=positive, default=21, metavar="N", help="default: 21; intervals need 6")
    parser.add_argument("--pairs", type=positive, default=400_000, metavar="N", help="in each loop; default: 400000")
    parser.add_argument("--threads", choices=("1", "2"), default="2", help="1: without a second thread, which sleeps")
    parser.add_argument("locks", nargs="*", metavar="LOCK", help="as in `lockswap compare --against`: ba, mutex:auto")
    words = parser.parse_args()
    paths = Paths.find()
    program = Program.find(paths, ("--pairs", str(words.pairs), "--threads", words.threads))
    rows = program.steps() + own_rows(chosen(Registry.load(paths), words.locks))
    for row in rows:
        program.count(row)
    for number in range(words.rounds):
        for row in random.Random(number).sample(rows, len(rows)):
            program.time(row)
    print(*lines(rows), sep="\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        print(f"table.py: {error}", file=sys.stderr)
        sys.exit(2)
