"""What was measured of a figure: the values of each point, round by round."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from lockswap.base.choice import NONE
from lockswap.figures.figure import Figure, Line, Point, X, Y, slug
from lockswap.figures.points import Axis, axis_of, workload_of
from lockswap.findings.measured import Campaign, Cell, Workload
from lockswap.findings.stats import Noise, Ratio, Spread, noise_of, paired_ratio
from lockswap.records.row import Row

# In campaign.toml: the figure's file as it was, and how many processors there were.
KEY = "figure"
ByRound = dict[int, float]


def recorded(figure: Figure, processors: int) -> dict[str, Any]:
    """For campaign.toml."""
    return {"file": dict(figure.data), "xs": [x.name for x in figure.xs], "processors": processors}


@dataclass(eq=False)
class Measured:
    """A figure with its campaign. `per_cpu`: statements are judged per CPU-second where there is such a figure."""

    figure: Figure
    campaign: Campaign
    processors: int

    @cached_property
    def workloads(self) -> dict[str, Workload]:
        return {workload.name: workload for workload in self.campaign.workloads}

    @cached_property
    def threads(self) -> tuple[int, ...]:
        return tuple(self.campaign.workloads[0].threads)

    @cached_property
    def axis(self) -> Axis:
        return axis_of(self.figure, self.threads, self.processors)

    @property
    def per_cpu(self) -> bool:
        return bool(self.campaign.about.get("per_cpu"))

    def _place(self, point: Point) -> tuple[Workload | None, int]:
        x: X | None = self.figure.xs[point.x] if self.figure.xs else None
        workload = self.workloads.get(workload_of(self.figure, point.panel, point.line, x))
        return workload, self.threads[point.x] if x is None else self.threads[0]

    def cell(self, point: Point) -> Cell | None:
        workload, threads = self._place(point)
        return workload.cell(threads, point.line.lock or NONE) if workload else None

    def values(self, point: Point, y: Y, per_cpu: bool = False) -> ByRound:
        return _by_round(self.cell(point), point.line, y, per_cpu)

    def shown(self, point: Point, y: Y, per_cpu: bool = False) -> ByRound:
        """As the figure draws them: relative to another line or to the first value, if the paper's figure is so."""
        values = self.values(point, y, per_cpu)
        if y.over:
            return _over(values, self.values(replace(point, line=self.figure.line(y.over)), y, per_cpu))
        return _over(values, self.values(replace(point, x=0), y, per_cpu)) if y.over_first else values

    def spread(self, point: Point, y: Y, per_cpu: bool = False) -> Spread | None:
        return Spread.of(list(self.shown(point, y, per_cpu).values()))

    def has_per_cpu(self, y: Y) -> bool:
        return any(y.names(line, True) for line in self.figure.lines if y.has(line))

    def ratio(self, one: Point, other: Point, y: Y, better: bool) -> Ratio | None:
        """Of their values in the same rounds, with the larger noise of the two; `better`: above 1 is better."""
        per_cpu = self.per_cpu and self.has_per_cpu(y)
        mine, base = self.values(one, y, per_cpu), self.values(other, y, per_cpu)
        rounds = sorted(mine.keys() & base.keys())
        up = y.higher_is_better or not better
        found = paired_ratio([mine[r] for r in rounds], [base[r] for r in rounds], up)
        noises = [noise.floor for point in (one, other) if (noise := self._noise(point, y, per_cpu))]
        floors = [floor for floor in noises if floor is not None]
        return found and found.with_noise(max(floors, default=None))

    def _noise(self, point: Point, y: Y, per_cpu: bool) -> Noise | None:
        workload, threads = self._place(point)
        if workload is None:
            return None
        first = _by_round(workload.cell(threads, NONE), point.line, y, per_cpu)
        second = _by_round(workload.second_runs.get(threads), point.line, y, per_cpu)
        rounds = sorted(first.keys() & second.keys())
        return noise_of([first[r] for r in rounds], [second[r] for r in rounds])

    def why_missing(self, point: Point) -> str:
        cell = self.cell(point)
        return next((f"{status}: {detail}" for status, detail, _ in cell.failures), "") if cell else ""

    def failures(self, y: Y) -> list[str]:
        """Why points are missing, each reason once."""
        found: dict[str, None] = {}
        for panel in filter(y.is_in, self.figure.panels):
            for line in filter(y.has, self.figure.lines):
                for x in range(len(self.axis.values)):
                    cell = self.cell(Point(panel, line, x))
                    if cell and cell.failures and not cell.good:
                        status, detail, _ = cell.failures[0]
                        found[f"{line.name}: {status}: {detail}"] = None
        return list(found)


def _by_round(cell: Cell | None, line: Line, y: Y, per_cpu: bool) -> ByRound:
    found = {row.round: _value(row, line, y, per_cpu) for row in cell.good} if cell else {}
    return {number: value for number, value in found.items() if value is not None}


def _value(row: Row, line: Line, y: Y, per_cpu: bool) -> float | None:
    names = y.names(line, per_cpu)
    if not names or not all(name in row.metrics for name in names):
        return None
    value = sum(row.metrics[name] for name in names)
    if y.for_work is None:
        return value
    return y.for_work / value if value > 0 else None


def _over(values: ByRound, others: ByRound) -> ByRound:
    return {number: value / others[number] for number, value in values.items() if others.get(number, 0) > 0}


def plot_name(figure: Figure, y: Y) -> str:
    return f"{figure.name}-{slug(y.name)}"
