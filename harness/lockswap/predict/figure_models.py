"""How the model runs what a paper's figure measures: predict/figures.toml."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lockswap.figures.figure import Figure, Line, Panel, X
from lockswap.predict import workloads
from lockswap.predict.bands import OWN_TABLE, Subject
from lockswap.predict.workloads import Workload

# Of the line's parameters or names: the kinds of what the model runs.
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
    why: str = ""
    most: Mapping[str, float] = field(default_factory=dict)  # the largest value of a parameter that is modelled
    virtual_ms: float = 5

    def fits(self, params: Mapping[str, Any]) -> bool:
        return all(params.get(name) == value for name, value in self.when.items())

    def covers(self, params: Mapping[str, Any]) -> bool:
        return all(params.get(name, 0) <= value for name, value in self.most.items())

    def subject(self, line: Line) -> Subject:
        lock = self.lock or line.lock
        if self.own_table and all(line.params.get(name) == value for name, value in self.own_table.items()):
            return Subject(lock, OWN_TABLE)
        kind, _, name = lock.partition(":")
        return Subject(name, _RANGE) if kind == _RANGE else Subject(self.instead.get(lock, lock), "rwlock")

    def asked(self, known: Mapping[str, Workload], params: Mapping[str, Any]) -> tuple[Workload, float]:
        """The workload with the figure's parameters, and the share of writes."""
        given = {word: params[name] for word, name in self.takes.items()}
        writes = given.pop("writes", 1 - given.pop("reads", 1))
        return replace(known[self.workload], **given), float(writes)


@dataclass(frozen=True)
class Book:
    entries: tuple[Entry, ...]
    workloads: Mapping[str, Workload]

    @classmethod
    def read(cls, entries: Path, known: Path) -> "Book":
        table = tomllib.loads(entries.read_text(encoding="utf-8"))
        return cls(tuple(Entry(**one) for one in table["entry"]), workloads.read(known))

    def entry(self, panel: Panel) -> Entry | None:
        """None: the model has nothing like this pair of axes."""
        return next((one for one in self.entries if one.measured == panel.workload and one.fits(panel.params)), None)

    def has(self, figure: Figure) -> bool:
        return not figure.missing and any(map(self.entry, figure.panels))


def parameters(panel: Panel, x: X | None) -> dict[str, Any]:
    return {**panel.params, **(x.params if x else {})}
