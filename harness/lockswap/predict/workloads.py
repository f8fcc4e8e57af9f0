"""The workloads of predict/workloads.toml."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from lockswap.base.nearest import unknown


@dataclass(frozen=True)
class Workload:
    name: str
    title: str
    step_ns: tuple[float, float] = (1.0, 1.0)  # between which a step of work takes
    inside_steps: float = 0
    outside_steps: float = 0
    varies: bool = False  # the work outside is drawn between 0 and twice that
    lines: int = 1  # of data that a section touches
    ring: bool = False  # each thread takes the lock when the one before it has had it
    locks: int = 1  # each acquisition is of one of these, drawn at random
    writers: int = 0  # if any, the first so many threads write, and no other does
    outside_steps_of_writers: float = 0
    ranges: str = ""  # of a range lock's array: full, disjoint or random; none: there is no array
    program: str = ""  # of the threads in an address space, as structures/apps/address_space has them
    memory: str = "arenas"  # where that allocates
    items: int = 0  # of a set at first
    buckets: int = 1  # the lists that have them
    mapping: float = 0.1  # the share of time in which one of them maps

    @property
    def is_of_locks(self) -> bool:
        """False: of range locks or structures, which a paper's figure names."""
        return not (self.ranges or self.program or self.items)


def read(file: Path) -> dict[str, Workload]:
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    return {
        name: Workload(name, **{**entry, "step_ns": tuple(entry.get("step_ns", (1.0, 1.0)))})
        for name, entry in table.items()
    }


def find(file: Path, name: str) -> Workload:
    every = read(file)
    if name not in every:
        raise unknown("workload", name, list(every), "lockswap predict --list")
    return every[name]
