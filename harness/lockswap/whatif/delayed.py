"""What runs of one lock under delays come to: the slope of what longer holds cost more than the same time behind them.

A delay costs processor time wherever it stands. What it costs more inside of the hold is the lock's part.
"""

from dataclasses import dataclass, field

from lockswap.findings import stats


@dataclass
class Delayed:
    """A lock, or several that one rule catches. `rule` has the words of LOCKSWAP_DELAY without the time."""

    title: str
    rule: str
    hold_us: float  # how long a hold is, by the profile
    holds: int = 0  # in a run
    delays_ns: tuple[int, int] = (0, 0)
    inside: list[tuple[float, ...]] = field(default_factory=list)  # by round: what each delay came to
    behind: list[tuple[float, ...]] = field(default_factory=list)

    def cost(self, is_rate: bool) -> stats.Shift:
        """What the metric gets worse by a microsecond in each hold, beyond what the same one costs behind it."""
        slopes = [
            self._slope([x - y for x, y in zip(inside, behind, strict=True)])
            for inside, behind in zip(self.inside, self.behind, strict=True)
        ]
        return stats.shift(slopes).times(-1 if is_rate else 1)

    def matters(self, is_rate: bool) -> stats.Shift:
        """What the metric gets worse by the holds as they are, if each microsecond costs what one more does."""
        return self.cost(is_rate).times(self.hold_us)

    def cost_to(self, base: list[float], after: bool, is_rate: bool) -> stats.Shift:
        """As cost, of one of the two alone, to runs without a delay."""
        rows = self.behind if after else self.inside
        slopes = [self._slope([x - plain for x in row]) for row, plain in zip(rows, base, strict=True)]
        return stats.shift(slopes).times(-1 if is_rate else 1)

    def _slope(self, differences: list[float]) -> float:
        """Least squares through 0: no delay makes no difference."""
        us = [ns / 1000 for ns in self.delays_ns]
        return sum(d * y for d, y in zip(us, differences, strict=True)) / sum(d * d for d in us)
