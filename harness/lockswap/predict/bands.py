"""What a prediction is: a band of rates for each lock and number of threads."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import median, quantiles

# A band is what 90 % of the draws say, and never narrower than this to either side: the model is no better.
LEAST_BAND = 0.25


# The kind of a lock under BRAVO each of whose instances has a readers table of its own.
OWN_TABLE = "own-table"


@dataclass(frozen=True)
class Subject:
    lock: str
    kind: str  # rwlock, mutex or OWN_TABLE

    def __str__(self) -> str:
        return f"{OWN_TABLE}:{self.lock}" if self.kind == OWN_TABLE else self.lock


@dataclass(frozen=True)
class Band:
    """Operations a second."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Band":
        middle = median(values)
        cut = quantiles(values, n=20, method="inclusive") if len(values) > 1 else [middle] * 19
        return cls(min(cut[0], middle * (1 - LEAST_BAND)), middle, max(cut[-1], middle * (1 + LEAST_BAND)))


def width(of: Iterable[Band]) -> float:
    """The median ratio of a band's top to its bottom. Without it, a score would reward wide bands."""
    return median(band.high / band.low if band.low else inf for band in of)


@dataclass(frozen=True)
class Point:
    """A lock with one number of threads. `rates` has its operations per second in each draw; locks share the draws."""

    subject: Subject
    threads: int
    rates: tuple[float, ...]
    transfers: float  # of cache lines an operation, the median

    @property
    def band(self) -> Band:
        return Band.of(self.rates)


def rate(found: Mapping[str, float], counted: Sequence[str] = ("reads", "writes")) -> float:
    """Operations per second."""
    return sum(found[name] for name in counted) / found["ns"] * 1e9
