"""The picture that a report begins with: workloads by locks, and in each square what the lock is there, and how much.

A square sums up one lock in one workload, over all figures and thread counts and by the rules of the verdict. It has
the worst that is shown: the least factor of the gains, or the largest of the losses. squares.py makes the squares.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lockswap.base.choice import MUTEX, MUTEX_MARK, PEER_MARK, RANGE, RANGE_MARK, RWLOCK, kinds_of
from lockswap.base.text import factor, times, words
from lockswap.findings.measured import Place, Workload

# What a lock is in a workload. MIXED: better in one figure or thread count, and worse in another.
BETTER, WORSE, MIXED, SAME, OPEN = "better", "worse", "mixed", "the same", "can't tell"
FAILED, MISSING = "failed", "not measured"
SIGN = {BETTER: "▲", WORSE: "▼", MIXED: "◆", SAME: "=", OPEN: "?", FAILED: "✗", MISSING: "–"}
# What the factor beside the sign is.
MEANS = {
    BETTER: "better (least gain)",
    WORSE: "worse (worst loss)",
    MIXED: "mixed",
    SAME: "the same",
    OPEN: "can't tell",
    FAILED: "runs failed",
    MISSING: "not measured",
}
_BRIEFLY = {RWLOCK: "rwlocks", MUTEX: "mutexes", RANGE: "range locks"}


@dataclass(frozen=True)
class Square:
    """One lock in one workload."""

    kind: str
    gains: tuple[Place, ...] = ()  # where it is shown to be better, in the figures that decide
    losses: tuple[Place, ...] = ()  # where it is shown to be worse, in any figure
    price: tuple[Place, ...] = ()  # these, and with a gain also processor time and context switches
    judged: int = 0  # all figures, each at each thread count
    loses: bool = False  # also in a figure that decides
    looks_worse: bool = False  # in a figure that decides, though chance may have done it
    span: tuple[float, float] | None = None  # what all intervals together leave possible, where nothing is shown
    why: str = ""  # there is no figure, or the figures do not count
    score: float = 0.0  # see Evidence.score

    @property
    def sign(self) -> str:
        return SIGN[self.kind]

    @property
    def amount(self) -> str:
        """The factor in brief: the least gain, or the worst loss."""
        if self.kind == BETTER:
            return least(self.gains)
        return worst(self.losses) if self.kind == WORSE else ""

    @property
    def brief(self) -> str:
        """For a narrow column: '▲1.26×', '▼2.9×', '◆ mixed', '= same', '?'."""
        if self.amount:
            return f"{self.sign}{self.amount}"
        said = {MIXED: "mixed", SAME: "same", FAILED: "failed"}.get(self.kind, "")
        return f"{self.sign} {said}".rstrip()

    @property
    def both(self) -> str:
        """The same where there is more room: a mixed one has both factors."""
        return f"{self.sign} ▲{least(self.gains)} ▼{worst(self.losses)}" if self.kind == MIXED else self.brief

    @property
    def detail(self) -> str:
        """What the factor does not say: of how many figures it is, and what the others have."""
        if self.kind in (BETTER, WORSE):
            shown = self.gains or self.losses
            spread = _spread(shown)
            if self.judged <= 1:
                return ""
            return f"{len(shown)} of {self.judged}{': ' * bool(spread)}{spread}"
        if self.kind == MIXED:
            return f"{least(self.gains)} better, {worst(self.losses)} worse"
        if self.kind == SAME:
            return "within 1.03×"
        if self.kind == OPEN and self.span:
            low, high = self.span
            if 1 < low < high < math.inf or 0 < low < high < 1:
                near, far = sorted(self.span, key=factor)
                return f"{times(near)} to {_side(far)}, maybe by chance"
            return f"{_side(low)} to {_side(high)}"
        return self.why


@dataclass(frozen=True)
class Row:
    workload: Workload
    squares: dict[str, Square]  # by lock


@dataclass(frozen=True)
class Picture:
    """The workloads that were compared under the same locks, which are those under test, the best one first."""

    locks: list[str]
    against: str
    ours: str  # what the locks are held against, as people call it
    rows: list[Row]

    @property
    def about(self) -> str:
        """The kinds of locks, in brief."""
        kinds = kinds_of([self.against, *self.locks])
        return words(name for kind, name in _BRIEFLY.items() if kind in kinds)

    @property
    def title(self) -> str:
        return f"{self.about} vs {self.ours}".strip()

    def short(self, lock: str) -> str:
        """Its name where it is said what kind of lock it is: 'auto' of 'mutex:auto', if all but peers are mutexes."""
        ours = [one for one in self.locks if not one.startswith(PEER_MARK)]
        for mark in (MUTEX_MARK, RANGE_MARK):
            if all(one.startswith(mark) for one in ours):
                return lock.removeprefix(mark)
        return lock

    @property
    def kinds(self) -> list[str]:
        """Those that occur, in the order of their signs."""
        found = {square.kind for row in self.rows for square in row.squares.values()}
        return [kind for kind in SIGN if kind in found]

    def squares(self, lock: str) -> dict[str, Square]:
        """By the name of the workload."""
        return {row.workload.name: row.squares[lock] for row in self.rows}


def least(places: Sequence[Place]) -> str:
    """The least of some gains."""
    estimate = min(place.ratio.estimate for place in places)
    return "from 0" if math.isinf(estimate) else times(estimate)


def worst(places: Sequence[Place]) -> str:
    """The worst of some losses."""
    estimate = min(place.ratio.estimate for place in places)
    return "to 0" if estimate == 0 else times(estimate)


def _spread(places: Sequence[Place]) -> str:
    """From the least to the largest factor, if they differ."""
    factors = sorted(factor(place.ratio.estimate) for place in places)
    ends = ["0" if math.isinf(end) else times(end) for end in (factors[0], factors[-1])]
    return " to ".join(ends) if ends[0] != ends[1] else ""


def _side(ratio: float) -> str:
    if ratio == 0 or math.isinf(ratio):
        return "nothing" if ratio == 0 else "any gain"
    return f"{times(ratio)} {'better' if ratio > 1 else 'worse'}" if times(ratio) != times(1) else times(1)
