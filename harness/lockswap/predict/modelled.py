"""What the model says of a paper's figure, as figures/judge.py wants it: the values of each point, draw by draw."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lockswap.figures.figure import Figure, Line, Panel, Point, Y
from lockswap.figures.points import Axis
from lockswap.findings.stats import Ratio
from lockswap.predict.bands import Band, Subject, rate
from lockswap.predict.figure_models import Entry, counted
from lockswap.predict.machines import Machine


@dataclass(eq=False)
class Modelled:
    figure: Figure
    machine: Machine
    axis: Axis
    subjects: Mapping[str, Subject] = field(default_factory=dict)  # by lines' names; lines without one aren't modelled
    entries: Mapping[str, Entry] = field(default_factory=dict)  # by panels' keys
    threads: tuple[int, ...] = ()  # of the points, in the model
    # By panel, line and place on the axis: what the model has counted in each draw.
    found: dict[tuple[str, str, int], Sequence[Mapping[str, float]]] = field(default_factory=dict)

    def note(self, panel: Panel, x: int, subject: Subject, draws: Sequence[Mapping[str, float]]) -> None:
        for name, mine in self.subjects.items():
            if mine == subject:
                self.found[panel.key, name, x] = draws

    @property
    def processors(self) -> int:
        return self.machine.processors

    @property
    def lines(self) -> list[Line]:
        return [line for line in self.figure.lines if line.name in self.subjects]

    @property
    def panels(self) -> list[Panel]:
        there = {panel for panel, _, _ in self.found}
        return [panel for panel in self.figure.panels if panel.key in there]

    @property
    def ys(self) -> list[Y]:
        """Those that consist of what the model counts."""
        return [y for y in self.figure.ys if any(counted(entry, y) for entry in self.entries.values())]

    def shown(self, point: Point, y: Y) -> Band | None:
        """As the figure draws it: relative to another line, if the paper's figure is so."""
        values = self._values(point, y)
        if values and y.over:
            values = _over(values, self._values(Point(point.panel, self.figure.line(y.over), point.x), y))
        elif values and y.over_first:
            values = _over(values, self._values(Point(point.panel, point.line, 0), y))
        return Band.of(values) if values else None

    def ratio(self, one: Point, other: Point, y: Y, better: bool) -> Ratio | None:
        mine, base = self._values(one, y), self._values(other, y)
        ratios = _over(mine, base)
        if better and not y.higher_is_better:
            ratios = [1 / ratio for ratio in ratios if ratio > 0]
        if not ratios:
            return None
        band = Band.of(ratios)
        return Ratio(len(ratios), band.middle, band.low, band.high)

    def why_missing(self, point: Point) -> str:
        if point.line.name not in self.subjects:
            return f"{point.line.name} isn't modelled"
        return "" if self._counted(point) else "not modelled"

    def _counted(self, point: Point) -> Sequence[Mapping[str, float]]:
        return self.found.get((point.panel.key, point.line.name, point.x), ())

    def _values(self, point: Point, y: Y) -> list[float]:
        draws = self._counted(point)
        if not draws:
            return []
        entry = self.entries[point.panel.key]
        rates = [rate(one, counted(entry, y)) for one in draws]
        threads = self.threads[point.x if self.figure.by_threads else 0]
        work = (threads - entry.idle) * 1e9 if y.name in entry.costs else y.for_work
        return [work / value for value in rates if value > 0] if work else rates


def _over(values: Sequence[float], others: Sequence[float]) -> list[float]:
    if len(values) != len(others):
        return []
    return [value / other for value, other in zip(values, others, strict=True) if other > 0]
