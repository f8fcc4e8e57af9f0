"""What a ratio means for a figure, in words: '2.4 times as high', '170 times longer', '4 % lower'."""

import math
from collections.abc import Sequence

from lockswap.base.text import si, times
from lockswap.findings.measures import MetricInfo
from lockswap.findings.stats import Ratio

# Up to here a difference is given in percent.
_PERCENT = 1.1


def is_time(metric: MetricInfo) -> bool:
    """Less of it is better because it is a time: a latency, or how long the work took."""
    return not metric.higher_is_better and (metric.role == "time" or metric.unit in ("s", "ms", "us", "µs", "ns"))


def effect(metric: MetricInfo, estimate: float, baseline: str) -> str:
    """Of a ratio above which 1 is better; what got nothing, or only then got something, is said as that."""
    if math.isinf(estimate):
        return f"not 0 as under {baseline}" if metric.higher_is_better else f"0, which it is not under {baseline}"
    if estimate == 0:
        return f"0, which it is not under {baseline}" if metric.higher_is_better else f"not 0 as under {baseline}"
    return f"{_amount([estimate])} {_direction(metric, estimate)}"


def short(metric: MetricInfo, estimate: float) -> str:
    """For a cell: '1.43×', of a time '170× longer'."""
    if not is_time(metric) or estimate == 1:
        return times(estimate)
    return f"{times(_factor(estimate))} {'shorter' if estimate > 1 else 'longer'}"


def short_interval(metric: MetricInfo, low: float, high: float) -> str:
    """'1.36× to 1.49×'; of a time '152× to 201× longer', '1.04× longer to 1.02× shorter', the least first."""
    if not is_time(metric):
        return f"{times(low)} to {times(high)}"
    if low < 1 < high:
        return f"{short(metric, low)} to {short(metric, high)}"
    ends = sorted(_factor(end) for end in (low, high))
    return f"{times(ends[0])} to {times(ends[1])} {'shorter' if high > 1 else 'longer'}"


def effects(metric: MetricInfo, ratios: Sequence[Ratio], baseline: str, brief: bool = False) -> str:
    """Of ratios that lie on one side of 1: the range of the estimates, and what all intervals have in common.

    '2.4 to 3.1 times as high (each at least 2.2)', '1.3 times as high (1.2 to 1.5)'; without the brackets if `brief`.
    """
    finite = [ratio for ratio in ratios if 0 < ratio.estimate < math.inf]
    beyond = [ratio for ratio in ratios if ratio not in finite]
    parts = []
    if finite:
        text = f"{_amount([ratio.estimate for ratio in finite])} {_direction(metric, finite[0].estimate)}"
        parts.append(text if brief else f"{text} ({_certain(finite)})")
    if beyond:
        parts.append(effect(metric, beyond[0].estimate, baseline) + (" in the extreme" if finite else ""))
    return ", ".join(parts)


def _certain(ratios: Sequence[Ratio]) -> str:
    """The interval of one; of several how near to 1 the nearest end is."""
    if len(ratios) == 1:
        ends = sorted(_factor(end) for end in (ratios[0].low, ratios[0].high))
        return f"{_number(ends[0], _small(ends))} to {_number(ends[1], _small(ends))}" + _unit(ends)
    nearest = min(min(_factor(ratio.low), _factor(ratio.high)) for ratio in ratios)
    return f"each at least {_number(nearest, _small([nearest]))}{_unit([nearest])}"


def _direction(metric: MetricInfo, estimate: float) -> str:
    up = (estimate > 1) == metric.higher_is_better
    if is_time(metric):
        return "longer" if up else "shorter"
    if up and not _small([_factor(estimate)]) and metric.higher_is_better:
        return "as high"
    return "higher" if up else "lower"


def _amount(estimates: Sequence[float]) -> str:
    factors = sorted(map(_factor, estimates))
    ends = list(dict.fromkeys(_number(factor, _small(factors)) for factor in (factors[0], factors[-1])))
    return f"{' to '.join(ends)}{_unit(factors) or ' times'}"


def _factor(estimate: float) -> float:
    """How far from 1, to whichever side."""
    return math.inf if estimate == 0 else max(estimate, 1 / estimate)


def _small(factors: Sequence[float]) -> bool:
    return max(factors) < _PERCENT


def _unit(factors: Sequence[float]) -> str:
    return " %" if _small(factors) else ""


def _number(factor: float, percent: bool) -> str:
    if percent:
        return f"{100 * (factor - 1):.1g}" if factor < 1.01 else f"{100 * (factor - 1):.0f}"
    if math.isinf(factor):
        return "any number of"
    if factor >= 1e6:
        return si(factor)
    if factor >= 100:
        return f"{float(f'{factor:.2g}'):,.0f}"
    return f"{factor:.0f}" if factor >= 10 else f"{factor:.1f}" if factor >= 2 else f"{factor:.2f}"
