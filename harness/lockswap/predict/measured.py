"""What is predicted and then measured, and what it was measured as."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from lockswap.findings.stats import quartiles


@dataclass(frozen=True)
class Place:
    """What is predicted and measured."""

    lock: str
    kind: str  # rwlock or mutex
    writes: float
    threads: int


@dataclass(frozen=True)
class Measured:
    """Operations per second: the median of the rounds, and their quartiles."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, rounds: Sequence[float]) -> "Measured":
        low, high = quartiles(rounds)
        return cls(low, median(rounds), high)
