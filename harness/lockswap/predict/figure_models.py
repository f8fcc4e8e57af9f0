"""How the model runs what a paper's figure measures: predict/figures.toml."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lockswap.figures.figure import Figure, Line, Panel, X, Y
from lockswap.predict.bands import OWN_TABLE, Subject

COUNTED = ("reads", "writes")  # by the model
_RANGE = "range"


@dataclass(frozen=True)
class Entry:
    """The model's workload for what `measured` measures with the parameters `when`."""

    measured: str
    workload: str
    when: Mapping[str, Any] = field(default_factory=dict)
    takes: Mapping[str, str] = field(default_factory=dict)  # the model's word -> the figure's parameter
    lock: str = ""  # of all lines, if these differ in something else
    own_table: Mapping[str, Any] = field(default_factory=dict)  # lines with these parameters have a table for each lock
    instead: Mapping[str, str] = field(default_factory=dict)  # what stands for a lock
    why: Sequence[str] = ()  # sentences
    most: Mapping[str, float] = field(default_factory=dict)  # the largest value of a parameter that is modelled
    parameter: str = ""  # lines aren't locks but structures, each named by this parameter
    counts: Mapping[str, list[str]] = field(default_factory=dict)  # y axis -> what of the model's counts it shows
    costs: Mapping[str, list[str]] = field(default_factory=dict)  # the same of an axis of times for each of these
    idle: int = 0  # threads that do none of these
    writes: float = 0  # their share, where the figure has no parameter for it
    virtual_ms: float = 5

    def fits(self, params: Mapping[str, Any]) -> bool:
        return all(params.get(name) == value for name, value in self.when.items())

    def covers(self, params: Mapping[str, Any]) -> bool:
        return all(params.get(name, 0) <= value for name, value in self.most.items())

    def subject(self, line: Line) -> Subject:
        if self.parameter:
            return Subject(str(line.params.get(self.parameter, line.set)), self.parameter)
        lock = self.lock or str(line.params.get("lock", line.lock))  # a parameter: compiled into the program
        lock = self.instead.get(lock, lock)
        if self.own_table and all(line.params.get(name) == value for name, value in self.own_table.items()):
            return Subject(lock, OWN_TABLE)
        kind, _, name = lock.partition(":")
        return Subject(name, _RANGE) if kind == _RANGE else Subject(lock, "rwlock")


@dataclass(frozen=True)
class Book:
    entries: tuple[Entry, ...]

    @classmethod
    def read(cls, file: Path) -> "Book":
        return cls(tuple(Entry(**one) for one in tomllib.loads(file.read_text(encoding="utf-8"))["entry"]))

    def entry(self, panel: Panel) -> Entry | None:
        """None: the model has nothing like this pair of axes."""
        return next((one for one in self.entries if one.measured == panel.workload and one.fits(panel.params)), None)

    def has(self, figure: Figure) -> bool:
        entries = [entry for panel in figure.panels if (entry := self.entry(panel))]
        return any(
            entry.subject(line).lock and any(counted(entry, y) for y in figure.ys)
            for entry in entries
            for line in figure.lines
        )


def counted(entry: Entry, y: Y) -> tuple[str, ...]:
    """Of what the model counts, what the axis shows; nothing if it shows something else."""
    if named := entry.counts.get(y.name) or entry.costs.get(y.name):
        return tuple(named)
    if y.metrics == ("operations",):
        return COUNTED
    return y.metrics if y.metrics and set(y.metrics) <= set(COUNTED) else ()


def parameters(panel: Panel, x: X | None) -> dict[str, Any]:
    return {**panel.params, **(x.params if x else {})}
