"""How far an axis reaches: to all that is there, but one outlier does not flatten the rest."""

import math
from collections.abc import Iterable, Sequence
from typing import Protocol

from lockswap.findings.stats import Spread, quartiles

# An axis reaches so many times as far as three quarters of what it shows; what lies beyond has an arrow and its value.
_TIMES_TYPICAL = 3.0
# So many quartile distances above the middle half is far out.
_FAR_OUT = 3.0
# A run must exceed the others so many times to be cut off.
_FLATTENS = 1.6


class Interval(Protocol):
    """A ratio, or how one changed."""

    @property
    def low(self) -> float: ...
    @property
    def estimate(self) -> float: ...
    @property
    def high(self) -> float: ...


def reach(ratios: Iterable[Interval], least: float) -> float:
    """How far a logarithmic scale of ratios around 1 goes."""
    logs = [
        max(abs(math.log(end)) for end in ends)
        for ratio in ratios
        if (ends := [end for end in (ratio.low, ratio.estimate, ratio.high) if 0 < end < math.inf])
    ]
    if not logs:
        return least
    typical = max(quartiles(logs)[1], math.log(least))
    return math.exp(min(max(*logs, math.log(least)), _TIMES_TYPICAL * typical))


def top(spreads: Sequence[Spread]) -> float:
    """Where a linear axis from 0 ends: at the highest run, unless that would squeeze the others."""
    highest = max((spread.high for spread in spreads), default=0.0)
    usual = max(
        (
            min(spread.high, max(spread.q3 + _FAR_OUT * (spread.q3 - spread.q1), 1.25 * spread.median))
            for spread in spreads
        ),
        default=0.0,
    )
    return highest if highest <= _FLATTENS * usual else usual
