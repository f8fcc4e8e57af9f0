"""Whether a ratio changed from one campaign to another: two independent samples of ratios, one a round.

The interval is the set of factors that the Mann-Whitney test (exact) does not reject at 5 %, the estimate the
Hodges-Lehmann shift that belongs to it. It assumes that the ratios of the rounds scatter alike in both campaigns.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median

from lockswap.findings.stats import LEAST, LEVEL, MIN_PAIRS, OPEN, SAME

CHANGED, UNCHANGED = "changed", "not changed"
# Stands for the logarithm of a ratio whose one side is zero.
_FAR = 1e6


@dataclass(frozen=True)
class Change:
    """The later ratio over the earlier one, above 1 = better than it was; `noise` is the larger noise floor."""

    n: tuple[int, int]
    estimate: float
    low: float
    high: float
    noise: float | None = None

    @property
    def trusted(self) -> bool:
        return min(self.n) >= MIN_PAIRS

    @property
    def verdict(self) -> str:
        if not self.trusted:
            return OPEN
        floor = self.noise or 1.0
        if self.low >= 1 - SAME and self.high <= 1 + SAME and floor <= 1 + SAME:
            return UNCHANGED
        outside = self.low >= 1 + LEAST or self.high <= 1 - LEAST
        return CHANGED if outside and (self.estimate > floor or self.estimate * floor < 1) else OPEN

    @property
    def better(self) -> bool:
        return self.estimate > 1


def symbol(found: Change) -> str:
    """For the eye; the word stands beside it."""
    return {CHANGED: "▲" if found.better else "▼", UNCHANGED: "=", OPEN: "?"}[found.verdict]


def change(
    before: Sequence[tuple[float, float]],
    after: Sequence[tuple[float, float]],
    higher_is_better: tuple[bool, bool] = (True, True),
    noise: float | None = None,
) -> Change | None:
    """From the pairs (lock's value, baseline's value) of two campaigns.

    None if one has no pairs, or if in both a side got nothing: infinitely better twice says nothing of a change.
    """
    first, second = (
        [_log(mine, base) * (1 if better else -1) for mine, base in pairs]
        for pairs, better in zip((before, after), higher_is_better, strict=True)
    )
    starved = [any(abs(log) >= _FAR for log in logs) for logs in (first, second)]
    if not first or not second or all(starved):
        return None
    shifts = sorted(later - earlier for later in second for earlier in first)
    rank = _rank(len(first), len(second))
    low, middle, high = map(_ratio, (shifts[rank], median(shifts), shifts[-1 - rank]))
    return Change((len(first), len(second)), middle, low, high, noise)


def _log(mine: float, base: float) -> float:
    if mine > 0 and base > 0:
        return math.log(mine / base)
    return 0.0 if mine == base else math.copysign(_FAR, mine - base)


def _ratio(shift: float) -> float:
    # Halves of what stands for infinity come from the mean of two shifts.
    return 0.0 if shift < -_FAR / 4 else math.inf if shift > _FAR / 4 else math.exp(shift)


@cache
def _rank(n: int, m: int) -> int:
    """Which of the n * m sorted shifts (from 0, from both ends) bounds the 95 % interval."""
    most = (n * m - 1) // 2
    # How many orders of n and m values have so many pairs in which the first's is the larger: the coefficients of
    # Gauss's binomial, product of (1 - x ** (m + i)) / (1 - x ** i) for i from 1 to n.
    orders = [1] + [0] * most
    for i in range(1, n + 1):
        for pairs in range(most, m + i - 1, -1):
            orders[pairs] -= orders[pairs - m - i]
        for pairs in range(i, most + 1):
            orders[pairs] += orders[pairs - i]
    total, rank, below = math.comb(n + m, n), 0, orders[0]
    for of_more in orders[1:]:
        below += of_more
        if 2 * below / total > 1 - LEVEL:
            break
        rank += 1
    return rank
