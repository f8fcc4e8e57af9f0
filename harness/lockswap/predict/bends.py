"""Where throughput bends: between which numbers of threads a lock stops doing more, where all draws but a few agree."""

from collections.abc import Sequence
from dataclasses import dataclass

from lockswap.predict.bands import Band, Point

# Of what more threads would do if each did as much as those before: below this share of it, throughput has bent.
SHARE = 0.5
# A point is compared with one that has at most this share of its threads. Bands are too wide for smaller steps.
STEP = 0.5


@dataclass(frozen=True)
class Bend:
    """`by` is the first number of threads from which on each is claimed to be past the bend. `after` is the largest
    with which twice as many are claimed to do more, or else the smallest that was modelled."""

    lock: str
    kind: str
    after: int
    by: int


def of(points: Sequence[Point]) -> list[Bend]:
    """A bend for each lock that has one. Nothing is said of a lock whose bands allow no claim."""
    found = []
    for subject in dict.fromkeys(point.subject for point in points):
        mine = sorted((point for point in points if point.subject == subject), key=lambda point: point.threads)
        if bend := _of_one(mine):
            found.append(bend)
    return found


def _of_one(points: Sequence[Point]) -> Bend | None:
    by = None
    for number in reversed(range(1, len(points))):
        step = _Step.to(number, points)
        if step is None:  # too small to say anything
            continue
        if not step.is_past_the_bend:
            break
        by = number
    if by is None:
        return None
    growing = [step.start for number in range(1, by) if (step := _Step.to(number, points)) and step.grows]
    subject = points[by].subject
    return Bend(subject.lock, subject.kind, max(growing, default=points[0].threads), points[by].threads)


@dataclass(frozen=True)
class _Step:
    """From one number of threads to a larger one, and how many times as much these do."""

    start: int
    end: int
    ratio: Band

    @classmethod
    def to(cls, number: int, points: Sequence[Point]) -> "_Step | None":
        """Draw by draw, since what isn't known of the machine is the same for both."""
        more = points[number]
        before = [point for point in points[:number] if point.threads <= more.threads * STEP]
        if not before:
            return None
        ratios = [a / b for a, b in zip(more.rates, before[-1].rates, strict=True) if b > 0]
        return cls(before[-1].threads, more.threads, Band.of(ratios)) if len(ratios) > 1 else None

    @property
    def is_past_the_bend(self) -> bool:
        return self.ratio.high < 1 + SHARE * (self.end / self.start - 1)

    @property
    def grows(self) -> bool:
        return self.ratio.low > 1
