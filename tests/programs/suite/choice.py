"""Which locks a case runs under."""

import hashlib
import subprocess
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path

from lockswap.base.choice import MUTEX, PTHREAD, Choice
from suite.case import Case
from suite.stage import Under

AT_A_TURN = 3  # a third of them with a mutex
# Of rwlocks and mutexes together; which, is drawn by their order alone.
PAIRS = 3


def combinations(case: Case, locks: Sequence[str], mutexes: Sequence[str] = ()) -> list[Under]:
    """All locks under all wait policies of the case, and all mutexes, which sleep: in strict order, other policies
    measure the scheduler in large programs. The pass-through waits as glibc does, whatever was chosen."""
    alone = [Under(lock, wait) for wait in case.waits for lock in locks if lock != PTHREAD or wait == "park"]
    ours = [lock for lock in locks if lock != PTHREAD]
    swapped = [mutex for mutex in mutexes if mutex != PTHREAD]
    choices = [Choice(PTHREAD, mutex) for mutex in mutexes]
    if ours and swapped:
        choices += [Choice(*pair) for pair in islice(zip(reversed(ours), cycle(swapped), strict=False), PAIRS)]
    return alone + [Under(choice.label, "park") for choice in choices]


def turn(case: Case, locks: Sequence[str], mutexes: Sequence[str], commit: str, count: int = AT_A_TURN) -> list[Under]:
    """So many of them, others with each commit and for each case, so that each has its turn."""

    def place(under: Under) -> bytes:
        return hashlib.sha256(f"{commit} {case.name} {under}".encode()).digest()

    drawn = sorted(combinations(case, locks, mutexes), key=place)
    with_mutex = [under for under in drawn if MUTEX in under.kinds][: count // 3]
    return [under for under in drawn if MUTEX not in under.kinds][: count - len(with_mutex)] + with_mutex


def commit_of(folder: Path) -> str:
    """The commit that is checked out; a fixed word where there is no git."""
    try:
        return subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "none"
