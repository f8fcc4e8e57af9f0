"""How far apart two figures are, in the one notation of reports and terminal: '2.4× higher', '170× longer'.

Always a factor above 1 and a word for the side; of what has no side of its own 'better' or 'worse'.
"""

import math
from collections.abc import Sequence

from lockswap.base.text import factor, times, words
from lockswap.findings.measures import MetricInfo
from lockswap.findings.stats import Ratio

# More estimates than these are said as a range.
_MOST_LISTED = 4
# What they add to 1 differs by no more than this factor where one is said for all.
_ALIKE = 1.2


def is_time(metric: MetricInfo) -> bool:
    """Less of it is better because it is a time: a latency, or how long the work took."""
    return not metric.higher_is_better and (metric.role == "time" or metric.unit in ("s", "ms", "us", "µs", "ns"))


def called(metric: MetricInfo, brief: bool = False) -> str:
    """A rate says that it is one: more 'waits done a second' are more work done, not more waiting."""
    is_rate = metric.unit.endswith("/s") and metric.higher_is_better and not metric.per_cpu_of
    return f"{metric.name}{'/s' if brief else ' done a second'}" if is_rate else metric.name


def effect(metric: MetricInfo, estimate: float, baseline: str) -> str:
    """A ratio in words, with above 1 as better; a rate of 0, or one that is 0 only in the baseline, is said as that."""
    if math.isinf(estimate):
        return f"not 0 as with {baseline}" if metric.higher_is_better else f"0, which it is not with {baseline}"
    if estimate == 0:
        return f"0, which it is not with {baseline}" if metric.higher_is_better else f"not 0 as with {baseline}"
    return short(metric, estimate)


def short(metric: MetricInfo | None, estimate: float) -> str:
    """A ratio in words, with above 1 as better: '1.43× higher', '170× longer'; without a metric '1.43× better'."""
    amount = times(estimate)
    return amount if amount == times(1) else f"{amount} {_direction(metric, estimate)}"


def short_interval(metric: MetricInfo | None, low: float, high: float, alone: bool = False) -> str:
    """'1.36× to 1.49×', the least first; '1.04× lower to 1.02× higher' where the sides differ. `alone`: the estimate,
    which says the side, does not stand beside it."""
    if low < 1 < high:
        return f"{short(metric, low)} to {short(metric, high)}"
    least, most = sorted((low, high), key=factor)
    side = f" {_direction(metric, most)}" if alone and most != 1 else ""
    return f"{times(least)} to {times(most)}{side}"


def effects(metric: MetricInfo, ratios: Sequence[Ratio], baseline: str, brief: bool = False) -> str:
    """Ratios on one side of 1 in words: each estimate in turn, and what all intervals have in common.

    '2.4× and 3.9× higher (all intervals above 2.2×)', '1.30× higher (interval 1.20× to 1.50×)'; without the brackets
    if `brief`. A range of estimates never looks like an interval: many are 'between 1.9× and 3.1×'.
    """
    finite = [ratio for ratio in ratios if 0 < ratio.estimate < math.inf]
    beyond = [ratio for ratio in ratios if ratio not in finite]
    parts = []
    if finite:
        text = f"{_amounts([ratio.estimate for ratio in finite])} {_direction(metric, finite[0].estimate)}"
        parts.append(text if brief else f"{text} ({_certain(metric, finite)})")
    if beyond:
        parts.append(effect(metric, beyond[0].estimate, baseline) + (" in the extreme" if finite else ""))
    return ", ".join(parts)


def _amounts(estimates: Sequence[float]) -> str:
    """Each in its place, so that thread counts which follow fit to them; one for all if they are alike."""
    amounts = [times(estimate) for estimate in estimates]
    least, most = (end(map(factor, estimates)) for end in (min, max))
    if alike(estimates):
        return amounts[0] if len(set(amounts)) == 1 else f"about {times(math.sqrt(least * most))}"
    return words(amounts) if len(amounts) <= _MOST_LISTED else f"between {times(least)} and {times(most)}"


def alike(estimates: Sequence[float]) -> bool:
    """So near to each other that one factor stands for all."""
    least, most = (end(map(factor, estimates)) for end in (min, max))
    return times(least) == times(most) or most - 1 <= _ALIKE * (least - 1)


def _certain(metric: MetricInfo, ratios: Sequence[Ratio]) -> str:
    """The interval of one; of several how near to 1 the nearest end is."""
    if len(ratios) == 1:
        return f"interval {short_interval(metric, ratios[0].low, ratios[0].high)}"
    return f"all intervals above {times(nearest(ratios))}"


def nearest(ratios: Sequence[Ratio]) -> float:
    """The end nearest to 1 of intervals that lie on one side of it."""
    return min((end for ratio in ratios for end in (ratio.low, ratio.high)), key=factor)


def _direction(metric: MetricInfo | None, estimate: float) -> str:
    if metric is None:
        return "better" if estimate > 1 else "worse"
    up = (estimate > 1) == metric.higher_is_better
    if is_time(metric):
        return "longer" if up else "shorter"
    return "higher" if up else "lower"
