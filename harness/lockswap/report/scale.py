"""The y axis of a plot of figures: linear from 0, or logarithmic where they lie too far apart."""

import math

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from lockswap.base.text import tick
from lockswap.findings.stats import Spread
from lockswap.report.axes import top

# Beyond this ratio of the largest median to the smallest the small ones would vanish on a linear axis.
_LINEAR_REACH = 15


def set_scale(axis: Axes, spreads: list[Spread], everything: list[float]) -> tuple[bool, float]:
    """Linear from 0; logarithmic where the medians lie too far apart for that. Whether it is, and where it ends."""
    medians = [spread.median for spread in spreads]
    limit = math.inf
    positive = [value for value in everything if value > 0]
    above = [value for value in medians if value > 0]
    high = max(everything, default=0)
    # A median of 0 beside others counts as far apart if the others are many.
    if not above or max(above) <= _LINEAR_REACH * max(min(medians), min(1.0, min(above))):
        limit = top(spreads)
        axis.set_ylim(0, (1.1 if limit == high else 1.25) * limit or 1)
        axis.yaxis.set_major_locator(MaxNLocator(nbins=5))
    else:
        bottom = 10.0 ** math.floor(math.log10(min(positive)))
        zero = min(everything) <= 0
        if zero:
            axis.set_yscale("symlog", linthresh=bottom, linscale=0.4)
        else:
            axis.set_yscale("log")
        axis.set_ylim(-0.15 * bottom if zero else min(positive) / 1.6, high * 1.8)
        decades = range(math.floor(math.log10(bottom)), math.ceil(math.log10(high)) + 1)
        every = math.ceil(len(decades) / 6)
        axis.yaxis.set_major_locator(FixedLocator([*([0] if zero else []), *(10.0**e for e in decades[::every])]))
        axis.yaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter(FuncFormatter(lambda y, _: tick(y)))
    return axis.get_yscale() != "linear", limit
