"""Medians, spreads, and paired ratios with an interval. No assumption about distributions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

LEVEL = 0.95
# With fewer pairs the signed-rank test cannot reach 95 %, however clear the difference (2 / 2**5 > 0.05).
MIN_PAIRS = 6
# Differences within this are called "the same" if the whole interval is inside.
SAME = 0.03
# An interval must keep this distance from 1 to be called a difference.
LEAST = 0.005


@dataclass(frozen=True)
class Spread:
    n: int
    median: float
    low: float
    high: float
    q1: float
    q3: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread | None":
        if not len(values):
            return None
        array = np.asarray(values, dtype=float)
        q1, median, q3 = np.percentile(array, [25, 50, 75])
        return cls(len(array), float(median), float(array.min()), float(array.max()), float(q1), float(q3))

    @property
    def relative(self) -> float:
        """(max - min) / median: how far the runs lie apart."""
        return (self.high - self.low) / self.median if self.median else math.inf if self.high else 0.0


@dataclass(frozen=True)
class Ratio:
    """A lock against a baseline, above 1 = better; the interval covers at least 95 % if `n` >= MIN_PAIRS."""

    n: int
    estimate: float
    low: float
    high: float

    @property
    def trusted(self) -> bool:
        return self.n >= MIN_PAIRS

    @property
    def verdict(self) -> str:
        if not self.trusted:
            return "can't tell"
        if self.low >= 1 - SAME and self.high <= 1 + SAME:
            return "the same"
        # Half a percent more than nothing, so that no interval printed as "1.00× to ..." is called a difference.
        if self.low >= 1 + LEAST:
            return "faster"
        if self.high <= 1 - LEAST:
            return "slower"
        return "can't tell"


def paired_ratio(values: Sequence[float], baseline: Sequence[float], higher_is_better: bool = True) -> Ratio | None:
    """Hodges-Lehmann estimate and signed-rank interval of the ratios of pairs (same round, same place)."""
    logs = [_log_ratio(x, base) for x, base in zip(values, baseline, strict=True)]
    if not logs:
        return None
    if not higher_is_better:
        logs = [-log for log in logs]
    walsh = sorted(_mean(a, b) for i, a in enumerate(logs) for b in logs[i:])
    rank = signed_rank_rank(len(logs))
    low, high = walsh[rank], walsh[-1 - rank]
    return Ratio(len(logs), _exp(_middle(walsh)), _exp(low), _exp(high))


def _log_ratio(x: float, base: float) -> float:
    if x > 0 and base > 0:
        return math.log(x / base)
    # A starved side is infinitely worse; two starved sides are equal.
    return 0.0 if x == base else math.inf if x > base else -math.inf


def _mean(a: float, b: float) -> float:
    return 0.0 if math.isinf(a) and a == -b else (a + b) / 2


def _middle(values: Sequence[float]) -> float:
    half = len(values) // 2
    return values[half] if len(values) % 2 else _mean(values[half - 1], values[half])


def _exp(log: float) -> float:
    return 0.0 if log == -math.inf else math.exp(log)


def signed_rank_rank(n: int, level: float = LEVEL) -> int:
    """Which of the sorted Walsh averages (from 0, from both ends) bounds the interval: exact, for any n."""
    ways = _rank_sums(n)
    allowed = (1 - level) / 2 * 2**n
    below, rank = 0, 0
    while below + ways[rank] <= allowed:
        below += ways[rank]
        rank += 1
    return max(rank - 1, 0)


def coverage(n: int, level: float = LEVEL) -> float:
    """What the interval of n pairs really covers if a round's two values could be exchanged."""
    outside = sum(_rank_sums(n)[: signed_rank_rank(n, level) + 1])
    return 1 - 2 * outside / 2**n


@lru_cache
def _rank_sums(n: int) -> list[int]:
    """For each w, how many of the 2**n sign patterns of the ranks 1..n have positive ranks adding up to w."""
    ways = [1]
    for rank in range(1, n + 1):
        longer = ways + [0] * rank
        for total, count in enumerate(ways):
            longer[total + rank] += count
        ways = longer
    return ways
