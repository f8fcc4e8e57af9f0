"""What a campaign has for and against one lock in one workload; verdict.py makes a sentence of it."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from lockswap.base.choice import BASELINES, NONE
from lockswap.findings.measured import Place, Workload, given_up
from lockswap.findings.measures import MetricInfo
from lockswap.findings.stats import EQUAL, FASTER, OPEN, SAME, SLOWER, Ratio, paired_ratio
from lockswap.records.row import Row
from lockswap.records.status import NO_LOCK, SKIPPED

# How often equals are called different, to one side: half of the most that results/notes/2026-11-statistics.md found.
BY_CHANCE = 0.008
# The same without a noise floor.
BY_CHANCE_WITHOUT_FLOOR = 0.02
# What chance does more often than this is not shown.
UNLIKELY = 0.05
# A cost is worth a word from this factor on.
COSTLY = 1.25
_SWITCHES = MetricInfo("context switches", "total", "1/s", "lower")
# An infinite ratio weighs as much as this one.
_MOST = 100.0


@dataclass(eq=False)
class Evidence:
    """One lock of one workload. `rivals` is among how many the best one is looked for: the best of many is
    good by chance, too."""

    workload: Workload
    lock: str
    rivals: int

    @cached_property
    def places(self) -> list[Place]:
        """Where the figures that decide, rates and times, differ."""
        return list(self._places(self.workload.leading(metric)[0] for metric in self.workload.awaited))

    @cached_property
    def others(self) -> list[Place]:
        """The same for figures that can only be a price: waiting times, fairness."""
        deciding = self.workload.awaited
        rest = [metric for metric in self.workload.metrics if metric not in deciding and self.workload.happens(metric)]
        return list(self._places(self.workload.leading(metric)[0] for metric in rest))

    def _places(self, metrics: Iterable[MetricInfo]) -> Iterable[Place]:
        for metric in metrics:
            for threads in self.workload.threads:
                ratio = self.workload.ratio(threads, self.lock, metric)
                if ratio is not None:
                    yield Place(metric, threads, ratio)

    @cached_property
    def wins(self) -> list[Place]:
        return self._shown(FASTER)

    @cached_property
    def losses(self) -> list[Place]:
        return self._shown(SLOWER)

    def _shown(self, verdict: str) -> list[Place]:
        found = [place for place in self.places if place.verdict == verdict]
        return [] if self.is_chance(found) else found

    def is_chance(self, claimed: list[Place]) -> bool:
        """Whether so many claims, none of them firm, come about between equals, too."""
        if not claimed or any(place.firm for place in claimed):
            return False
        floors = all(place.ratio.noise is not None for place in claimed)
        rate = BY_CHANCE if floors else BY_CHANCE_WITHOUT_FLOOR
        n = len(self.places)
        tail = sum(math.comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(len(claimed), n + 1))
        return self.rivals * tail > UNLIKELY

    @cached_property
    def unsure(self) -> list[Place]:
        """Claimed as faster, but so few times that chance does it among so many comparisons."""
        found = [place for place in self.places if place.verdict == FASTER]
        return found if self.is_chance(found) else []

    @cached_property
    def worse(self) -> list[Place]:
        """What the lock costs in the figures that do not decide."""
        return [place for place in self.others if place.verdict == SLOWER]

    @cached_property
    def dear(self) -> list[Place]:
        """Gains whose other figure, per CPU-second or by the clock, is worse."""
        return [other for place in self.wins if (other := self.other_figure(place)) and other.verdict == SLOWER]

    @cached_property
    def more_switches(self) -> list[Place]:
        """Where it gains with many more context switches."""
        counts = sorted({place.threads for place in self.wins})
        found = [Place(_SWITCHES, threads, ratio) for threads in counts if (ratio := self.switches(threads))]
        return [place for place in found if place.verdict == SLOWER and place.ratio.estimate < 1 / COSTLY]

    @property
    def price(self) -> list[Place]:
        """All that a gain costs."""
        return [*self.losses, *self.worse, *self.dear, *self.more_switches]

    @property
    def useless(self) -> bool:
        """Shown to bring nothing: it loses and does not win, or nowhere can it win more than a little."""
        if not self.places or self.wins:
            return False
        return bool(self.losses) or all(_no_gain(place.ratio) for place in self.places)

    @cached_property
    def failure(self) -> str:
        """Why the lock cannot be taken, whatever its figures are: one bad run is enough, if glibc's had none."""
        mine = [self._failed(threads, self.lock) for threads in self.workload.threads]
        base = any(self._failed(threads, self.workload.against) for threads in self.workload.threads)
        return "" if base else next(filter(None, mine), "")

    def _failed(self, threads: int, lock: str) -> str:
        cell = self.workload.cell(threads, lock)
        for status, detail, count in cell.failures if cell else ():
            if status not in (SKIPPED, NO_LOCK) and not given_up(detail):
                return f"{count} of {cell.tried} runs: {status}"
        return ""

    @cached_property
    def score(self) -> float:
        """What the lock is sure to bring, less what it costs, as the mean logarithm over figures and thread counts."""
        gained = sum(_weight(place.ratio.low) for place in self.wins)
        lost = sum(_weight(place.ratio.estimate) for place in self.losses)
        return (gained + lost) / max(1, len(self.places))

    def clearly_better_than(self, other: "Evidence") -> bool:
        """Whether anything shows this lock to be the better one of the two."""
        return any(
            ratio.verdict == FASTER
            for place in self.places
            if (ratio := self.workload.ratio(place.threads, self.lock, place.metric, other.lock))
        )

    def other_figure(self, place: Place) -> Place | None:
        """The same per CPU-second if the clock leads, or by the clock."""
        by_name = {metric.name: metric for metric in self.workload.metrics}
        leading = place.metric
        other = (
            by_name.get(leading.per_cpu_of) if leading.per_cpu_of else self.workload.per_cpu_figures.get(leading.name)
        )
        ratio = self.workload.ratio(place.threads, self.lock, other) if other else None
        return Place(other, place.threads, ratio) if ratio else None

    def switches(self, threads: int) -> Ratio | None:
        """Context switches a second, above 1 = fewer, with the noise floor of switches."""
        mine, base = (self._by_round(threads, lock) for lock in (self.lock, self.workload.against))
        both = sorted(mine.keys() & base.keys())
        ratio = paired_ratio([mine[n] for n in both], [base[n] for n in both], higher_is_better=False)
        if ratio is None:
            return None
        first, cell = self._by_round(threads, NONE), self.workload.second_runs.get(threads)
        second = {row.round: _switches(row) for row in cell.good if _switches(row)} if cell else {}
        pairs = sorted(first.keys() & second.keys())
        noise = paired_ratio([first[n] for n in pairs], [second[n] for n in pairs])
        return ratio.with_noise(max(noise.high, 1 / noise.low) if noise and noise.trusted else None)

    def _by_round(self, threads: int, lock: str) -> dict[int, float]:
        cell = self.workload.cell(threads, lock)
        return {row.round: found for row in cell.good if (found := _switches(row))} if cell else {}


def _no_gain(ratio: Ratio) -> bool:
    """At most a little better, and by more than noise could hide."""
    if ratio.verdict == EQUAL:
        return True
    return ratio.trusted and ratio.high <= 1 + SAME and ratio.estimate * (ratio.noise or 1) <= 1 + SAME


def _switches(row: Row) -> float | None:
    wall = row.numbers.get("wall_s")
    return row.numbers.get("context_switches", 0) / wall if wall else None


def _weight(ratio: float) -> float:
    return math.log(min(max(ratio, 1 / _MOST), _MOST))


def of(workload: Workload, comparisons: int = 1) -> list[Evidence]:
    """The evidence for each lock under test, in their order; `comparisons` is how many workloads are judged at once."""
    locks = under_test(workload.locks, workload.against)
    found = [Evidence(workload, lock, len(locks) * comparisons) for lock in locks]
    return [evidence for evidence in found if evidence.places or evidence.failure]


def under_test(locks: list[str], against: str) -> list[str]:
    return [lock for lock in locks if lock not in BASELINES and lock != against]


def is_open(evidence: Evidence) -> bool:
    """Neither a gain nor its absence is shown."""
    return not evidence.wins and not evidence.useless


def decided_differently(evidence: Evidence, place: Place) -> Place | None:
    """The other figure of the place, if its verdict is another one and is one."""
    other = evidence.other_figure(place)
    return other if other and other.verdict not in (place.verdict, OPEN) else None
