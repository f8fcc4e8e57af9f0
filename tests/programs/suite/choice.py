"""Which locks a case runs under."""

import hashlib
from collections.abc import Sequence
from itertools import cycle, islice

from lockswap.base.choice import MUTEX, PTHREAD, Choice
from suite.case import Case
from suite.stage import Under

IN_A_SAMPLE = 3  # a third of them with a mutex
# How many pairs of an rwlock and a mutex there are; which ones depends only on the order of the locks.
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


def sample(
    case: Case, locks: Sequence[str], mutexes: Sequence[str], count: int = IN_A_SAMPLE, draw: str = ""
) -> list[Under]:
    """`count` of them, others for each case, so that the cases together have all; `draw` makes another draw."""

    def place(under: Under) -> bytes:
        return hashlib.sha256(f"{draw} {case.name} {under}".encode()).digest()

    drawn = sorted(combinations(case, locks, mutexes), key=place)
    with_mutex = [under for under in drawn if MUTEX in under.kinds][: count // 3]
    return [under for under in drawn if MUTEX not in under.kinds][: count - len(with_mutex)] + with_mutex
