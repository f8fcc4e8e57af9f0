"""What the model is asked, and what it counts."""

from dataclasses import dataclass
from statistics import median

from lockswap.predict.bands import Point, Subject, rate
from lockswap.predict.machines import Machine
from lockswap.predict.workloads import Workload


@dataclass(frozen=True)
class Question:
    machine: Machine
    workload: Workload
    writes: float
    subjects: tuple[Subject, ...]
    threads: tuple[int, ...]
    draws: int
    virtual_ns: float
    first_draw: int = 0

    def shares(self, threads: int) -> bool:
        """Whether that many threads have to share processors. Their locks sleep then, as the library's do."""
        return threads > self.machine.processors


@dataclass(frozen=True)
class Run:
    """What the model counted in each draw for one lock with one number of threads."""

    subject: Subject
    threads: int
    draws: tuple[dict, ...]

    @property
    def point(self) -> Point:
        moved = median(transfers(found) / max(1, found["reads"] + found["writes"]) for found in self.draws)
        return Point(self.subject, self.threads, tuple(map(rate, self.draws)), moved)


def transfers(found: dict) -> float:
    """Of cache lines, in all."""
    return found["node"] + found["remote"] + found["memory"]
