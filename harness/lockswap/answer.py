"""The first table of a report: who is faster, slower, or can't be told, for each figure, thread count and lock."""

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lockswap.stats import Noise, Ratio
from lockswap.summary import Campaign, Cell, MetricInfo, Workload, compared

ORDER = ("faster", "slower", "the same", "can't tell")
# Ratios beyond this are drawn at the edge of a cell's scale.
_FARTHEST = 4.0
_NARROWEST = 1.5


@dataclass(frozen=True)
class Place:
    """Where an interval lies on a scale, in percent of its width."""

    left: float
    middle: float
    width: float


@dataclass(frozen=True)
class Scale:
    """A logarithmic scale with 1 in the middle, the same in every cell of a table."""

    reach: float

    @classmethod
    def of(cls, ratios: list[Ratio]) -> "Scale":
        ends = [end for ratio in ratios for end in (ratio.low, ratio.high)]
        ends = [max(end, 1 / end) for end in ends if 0 < end < math.inf]
        return cls(min(max([_NARROWEST, *ends]), _FARTHEST))

    def place(self, ratio: Ratio | Noise) -> Place:
        left, middle, right = (self._percent(value) for value in (ratio.low, ratio.estimate, ratio.high))
        return Place(left, middle, round(right - left, 1))

    def _percent(self, value: float) -> float:
        inside = min(max(value, 1 / self.reach), self.reach)
        return round(50 + 50 * math.log(inside) / math.log(self.reach), 1)


@dataclass(frozen=True)
class Line:
    """One figure at one thread count."""

    metric: MetricInfo
    threads: int
    ratios: dict[str, Ratio | None]
    cells: dict[str, Cell | None]
    noise: Noise | None  # the program against itself
    first_of_metric: bool


@dataclass(frozen=True)
class Group:
    """All lines of a workload."""

    workload: Workload
    lines: list[Line]

    @cached_property
    def tally(self) -> dict[str, dict[str, int]]:
        """lock -> verdict -> how many lines, the decided ones first."""
        counts: dict[str, Counter] = {}
        for line in self.lines:
            for lock, ratio in line.ratios.items():
                counts.setdefault(lock, Counter()).update([ratio.verdict] if ratio else [])
        locks = self.workload.locks
        return {
            lock: {verdict: found[verdict] for verdict in ORDER if found[verdict]}
            for lock in locks
            for found in (counts.get(lock, Counter()),)
        }


@dataclass(frozen=True)
class Answer:
    locks: list[str]
    groups: list[Group]
    scale: Scale

    @property
    def noise(self) -> bool:
        return any(line.noise for group in self.groups for line in group.lines)


def of(campaign: Campaign) -> Answer:
    locks = compared(campaign.locks, campaign.against)
    groups = [Group(workload, _lines(workload, locks)) for workload in campaign.workloads]
    ratios = [ratio for group in groups for line in group.lines for ratio in line.ratios.values() if ratio]
    return Answer(locks, groups, Scale.of(ratios))


def _lines(workload: Workload, locks: list[str]) -> list[Line]:
    lines: list[Line] = []
    for metric in workload.metrics if workload.measured() else ():
        # A sum of reads and writes would say the same again, and hide who pays.
        if metric.role == "total" and len(workload.metrics) > 2:
            continue
        for threads in workload.threads:
            cells: dict[str, Any] = {lock: workload.cell(threads, lock) for lock in (workload.against, *locks)}
            if any(cells.values()):
                ratios = {lock: workload.ratio(threads, lock, metric) for lock in locks}
                first = not lines or lines[-1].metric is not metric
                lines.append(Line(metric, threads, ratios, cells, workload.noise(threads, metric), first))
    return lines


def tally_words(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) or "no figures"
