"""What a prediction claims: which of two locks is faster, where all draws but a few agree."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from lockswap.predict.bands import Band, Point


@dataclass(frozen=True)
class Claim:
    faster: str
    slower: str
    threads: int
    ratio: float


def compare(one: Point, other: Point) -> Claim | None:
    """Draw by draw, since what isn't known of the machine is the same for both. None: no claim."""
    ratios = [a / b for a, b in zip(one.rates, other.rates, strict=True) if b > 0]
    if len(ratios) < 2:
        return None
    band = Band.of(ratios)
    if band.low > 1:
        return Claim(str(one.subject), str(other.subject), one.threads, band.middle)
    if band.high < 1:
        return Claim(str(other.subject), str(one.subject), one.threads, 1 / band.middle)
    return None


@dataclass(frozen=True)
class Coverage:
    """How many claims were made, of how many pairs. Without it, a score would reward silence."""

    made: int
    pairs: int

    @property
    def share(self) -> float:
        return self.made / self.pairs if self.pairs else 0.0

    @classmethod
    def sum(cls, parts: Iterable["Coverage"]) -> "Coverage":
        every = list(parts)
        return cls(sum(one.made for one in every), sum(one.pairs for one in every))


@dataclass(frozen=True)
class Claims:
    made: tuple[Claim, ...]
    pairs: int  # that might have been claimed

    @property
    def covered(self) -> Coverage:
        return Coverage(len(self.made), self.pairs)

    @classmethod
    def of(cls, points: Sequence[Point]) -> "Claims":
        made, pairs = [], 0
        for threads in sorted({p.threads for p in points}):
            there = [p for p in points if p.threads == threads]
            for one, other in combinations(there, 2):
                pairs += 1
                if claim := compare(one, other):
                    made.append(claim)
        return cls(tuple(made), pairs)


def by_pair(claims: Claims) -> dict[tuple[str, str], list[Claim]]:
    """(faster, slower) -> where, by threads."""
    found: dict[tuple[str, str], list[Claim]] = {}
    for claim in claims.made:
        found.setdefault((claim.faster, claim.slower), []).append(claim)
    return found
