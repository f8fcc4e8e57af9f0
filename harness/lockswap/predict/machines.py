"""The machines of predict/machines: how many processors, and what moving a cache line between two cores takes."""

import csv
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from lockswap.base.errors import UserError
from lockswap.base.nearest import unknown

_MOST_NS = 1e9


@dataclass(frozen=True)
class Machine:
    name: str
    title: str
    sources: tuple[str, ...]
    nodes: int
    cores: int  # of a node
    threads: int  # of a core
    latency_ns: tuple[tuple[float, ...], ...]  # between two cores; to itself: between the core's own threads
    spread: float = 0.08  # of the logarithm of the latencies, from one machine of this kind to another
    ghz: tuple[float, float] | None = None  # the frequency with all cores busy at least, and with one at most
    costs: Mapping[str, float] = field(default_factory=dict)  # that were measured there, by the model's names
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # the same, from which one is drawn
    fitted: float | None = None  # the factor of its latencies, if that was fitted to what others measured there

    @property
    def processors(self) -> int:
        return self.nodes * self.cores * self.threads

    def node_of(self, core: int) -> int:
        return core // self.cores

    @classmethod
    def read(cls, file: Path) -> "Machine":
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        nodes, cores = (_count(file, table, key) for key in ("nodes", "cores"))
        if "latencies" in table:
            latency = _matrix((file.parent / table["latencies"]).read_text(encoding="utf-8"))
        elif "latency_table" in table:
            latency = _matrix(table["latency_table"])
        else:
            latency = _by_distance(nodes, cores, table["own_core_ns"], table["node_ns"], table["remote_ns"])
        if [len(row) for row in latency] != [nodes * cores] * (nodes * cores):
            raise UserError(f"{file}: {nodes * cores} cores need {nodes * cores} rows of {nodes * cores} latencies")
        intervals = {key: (float(low), float(high)) for key, (low, high) in table.get("intervals", {}).items()}
        costs = {key: float(ns) for key, ns in table.get("costs", {}).items()}
        _check_times(file, [*chain(*latency), *chain(*intervals.values()), *costs.values()])
        return cls(file.stem, table["title"], tuple(table["sources"]), nodes, cores, _count(file, table, "threads"),
                   latency, table.get("spread", cls.spread), tuple(table["ghz"]) if "ghz" in table else None,
                   costs, intervals, table.get("fitted"))  # fmt: skip


def _count(file: Path, table: Mapping[str, Any], key: str) -> int:
    if not isinstance(count := table[key], int) or count < 1:
        raise UserError(f"{file}: {key} = {count}: give a whole number of at least 1")
    return count


def _check_times(file: Path, times_ns: Iterable[float]) -> None:
    for ns in times_ns:
        if not 0 <= ns <= _MOST_NS:  # which isn't a number, either
            raise UserError(f"{file}: {ns:g} is no time in nanoseconds: give 0 to {_MOST_NS:g}")


def _matrix(text: str) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(map(float, row)) for row in csv.reader(text.strip().splitlines()))


def _by_distance(nodes: int, cores: int, own: float, near: float, far: float) -> tuple[tuple[float, ...], ...]:
    every = range(nodes * cores)
    return tuple(tuple(own if a == b else near if a // cores == b // cores else far for b in every) for a in every)


def names(folder: Path) -> list[str]:
    return sorted(file.stem for file in folder.glob("*.toml"))


def find(folder: Path, name: str) -> Machine:
    """By its name, or a file of the user's own."""
    if name.endswith(".toml"):
        if not Path(name).is_file():
            raise UserError(f"there is no file '{name}': give a machine's name, or a file like those in {folder}")
        try:
            return Machine.read(Path(name))
        except KeyError as error:
            raise UserError(
                f"{name} is not a machine file: the key {error} is missing; 'lockswap machine' writes such a file"
            ) from error
        except (AttributeError, csv.Error, OSError, TypeError, ValueError) as error:
            raise UserError(f"{name} is not a machine file: {error}") from error
    known = names(folder)
    if name not in known:
        raise unknown("machine", name, known, "lockswap predict --list")
    return Machine.read(folder / f"{name}.toml")
