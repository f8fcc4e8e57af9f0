"""Medians, spreads, paired ratios with an interval, and the noise floor. No assumption about distributions.

The interval is the set of ratios that Wilcoxon's signed-rank test (exact) does not reject at 5 %, the estimate
the Hodges-Lehmann median that belongs to it. Why this one: results/notes/2026-11-statistics.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate, combinations_with_replacement
from statistics import median, quantiles

LEVEL = 0.95
# With fewer pairs the signed-rank test cannot reach 95 %, however clear the difference (2 / 2**5 > 0.05).
MIN_PAIRS = 6
# Differences within this are called "the same" if the whole interval is inside.
SAME = 0.03
# An interval must keep this distance from 1 to be called a difference.
LEAST = 0.005
# A side whose rate is below this share of what another lock gives it is starved.
STARVED = 0.05

FASTER, SLOWER, EQUAL, OPEN = "faster", "slower", "the same", "can't tell"


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
        if not values:
            return None
        q1, q3 = quartiles(values)
        return cls(len(values), float(median(values)), float(min(values)), float(max(values)), q1, q3)

    @property
    def relative(self) -> float:
        """(max - min) / median: how far the runs lie apart."""
        return (self.high - self.low) / self.median if self.median else math.inf if self.high else 0.0


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """The first and the third one, interpolated between values; there must be one."""
    if len(values) == 1:
        return float(values[0]), float(values[0])
    first, _, third = quantiles(values, n=4, method="inclusive")
    return first, third


@dataclass(frozen=True)
class Ratio:
    """A lock against a baseline, above 1 = better; the interval covers at least 95 % if `n` >= MIN_PAIRS.

    `noise` is the noise floor; None if it was not measured.
    """

    n: int
    estimate: float
    low: float
    high: float
    noise: float | None = None

    @property
    def trusted(self) -> bool:
        return self.n >= MIN_PAIRS

    @property
    def beyond_noise(self) -> bool:
        """Whether the difference is one that the program, against itself, would not show."""
        return self.noise is None or self.estimate > self.noise or self.estimate * self.noise < 1

    @property
    def verdict(self) -> str:
        if not self.trusted:
            return OPEN
        if self.low >= 1 - SAME and self.high <= 1 + SAME and (self.noise is None or self.noise <= 1 + SAME):
            return EQUAL
        return self._side if self.beyond_noise else OPEN

    @property
    def hidden(self) -> bool:
        """The interval alone would have claimed a difference; the noise floor forbids it."""
        return self.trusted and self._side != OPEN and not self.beyond_noise

    @property
    def _side(self) -> str:
        # Half a percent more than nothing, so that no interval printed as "1.00× to ..." is called a difference.
        if self.low >= 1 + LEAST:
            return FASTER
        if self.high <= 1 - LEAST:
            return SLOWER
        return OPEN

    @property
    def width(self) -> float:
        """How far the farther end of the interval lies from the estimate: 0.05 for 'to within 5 %'.

        Infinite with too few pairs. A starved side has no width (nan): no number of rounds would give it one.
        """
        if self.estimate in (0, math.inf):
            return math.nan
        return _width(self)

    def with_noise(self, noise: float | None) -> "Ratio":
        return replace(self, noise=noise)


def paired_ratio(values: Sequence[float], baseline: Sequence[float], higher_is_better: bool = True) -> Ratio | None:
    """Hodges-Lehmann estimate and signed-rank interval of the ratios of pairs (same round, same place)."""
    sign = 1 if higher_is_better else -1
    logs = [sign * _log_ratio(x, base) for x, base in zip(values, baseline, strict=True)]
    if not logs:
        return None
    found = shift(logs)
    return Ratio(found.n, _exp(found.estimate), _exp(found.low), _exp(found.high))


@dataclass(frozen=True)
class Shift:
    """How far a quantity lies from 0; the interval covers at least 95 % if `n` >= MIN_PAIRS."""

    n: int
    estimate: float
    low: float
    high: float

    def times(self, factor: float) -> "Shift":
        ends = sorted((self.low * factor, self.high * factor))
        return Shift(self.n, self.estimate * factor, *ends)

    def is_apart_from(self, other: "Shift") -> bool:
        return self.low > other.high or self.high < other.low


def shift(differences: Sequence[float]) -> Shift:
    """As paired_ratio, of differences instead of ratios; there must be one."""
    walsh = sorted((one + other) / 2 for one, other in combinations_with_replacement(differences, 2))
    rank = signed_rank_rank(len(differences))
    return Shift(len(differences), median(walsh), walsh[rank], walsh[-1 - rank])


@dataclass(frozen=True)
class Noise:
    """The interval of the ratio of one and the same program to itself, from `n` pairs of runs."""

    n: int
    estimate: float
    low: float
    high: float

    @property
    def floor(self) -> float | None:
        """1.04: this machine shows no difference below 4 %. None: too few pairs to know."""
        return max(self.high, 1 / self.low) if self.trusted else None

    @property
    def trusted(self) -> bool:
        return self.n >= MIN_PAIRS

    @property
    def width(self) -> float:
        return _width(self)


def _width(ratio: Ratio | Noise) -> float:
    if not ratio.trusted or ratio.low == 0 or ratio.high == math.inf:
        return math.inf
    return max(ratio.high / ratio.estimate, ratio.estimate / ratio.low) - 1


def noise_of(first: Sequence[float], second: Sequence[float]) -> Noise | None:
    """Zero counts as the smallest other value: a starved side that now gets something and now nothing is noisy, but not
    infinitely."""
    least = min((value for value in (*first, *second) if value > 0), default=1.0)
    ratio = paired_ratio([x or least for x in first], [x or least for x in second])
    return ratio and Noise(ratio.n, ratio.estimate, ratio.low, ratio.high)


# A starved side is infinitely worse; two starved sides are equal. A large number stands for the infinite logarithm, as
# infinities of both signs have no mean; what is beyond _FAR after taking means came from one.
_INFINITE, _FAR = 1e9, 1e6


def _log_ratio(x: float, base: float) -> float:
    if x > 0 and base > 0:
        return math.log(x / base)
    return 0.0 if x == base else math.copysign(_INFINITE, x - base)


def _exp(log: float) -> float:
    return 0.0 if log < -_FAR else math.inf if log > _FAR else math.exp(log)


@cache
def signed_rank_rank(n: int) -> int:
    """Which of the sorted means of two (from 0, from both ends) bounds the 95 % interval of n differences.

    Not by scipy, whose statistics take longer to load than a small campaign to run.
    """
    # How many choices of signs have each sum of the ranks above zero, up to half of the largest sum.
    ways = [1] + [0] * (n * (n + 1) // 4)
    for rank in range(1, n + 1):
        ways = [without + with_it for without, with_it in zip(ways, [0] * rank + ways, strict=False)]
    rejected = sum(2 * below / 2**n <= 1 - LEVEL for below in accumulate(ways))
    return max(0, rejected - 1)
