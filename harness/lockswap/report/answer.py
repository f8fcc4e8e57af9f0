"""The first table of a report: which lock is faster, which slower, for each figure and thread count."""

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from lockswap.base.choice import CALLED, kinds_of
from lockswap.base.text import plural, words
from lockswap.findings.change import Change
from lockswap.findings.measured import Campaign, Cell, Workload, compared
from lockswap.findings.measures import MetricInfo, split
from lockswap.findings.stats import EQUAL, FASTER, OPEN, SLOWER, Ratio
from lockswap.findings.two_clocks import meaning
from lockswap.report.axes import reach

ORDER = (FASTER, SLOWER, EQUAL, OPEN)
# Ratios beyond this are drawn at the edge of a cell's scale.
_FARTHEST = 4.0
_NARROWEST = 1.5


@dataclass(frozen=True)
class Place:
    """Where an interval lies on a scale, in percent of its width."""

    left: float
    middle: float
    width: float
    beyond: str = ""  # "left" or "right" if the estimate lies outside the scale


@dataclass(frozen=True)
class Scale:
    """A logarithmic scale with 1 in the middle, the same in every cell of a table."""

    reach: float

    @classmethod
    def of(cls, ratios: list[Ratio]) -> "Scale":
        return cls(min(reach(ratios, _NARROWEST), _FARTHEST))

    def place(self, ratio: Ratio | Change) -> Place:
        left, middle, right = (self._percent(value) for value in (ratio.low, ratio.estimate, ratio.high))
        beyond = "right" if ratio.estimate > self.reach else "left" if ratio.estimate * self.reach < 1 else ""
        return Place(left, middle, round(right - left, 1), beyond)

    def band(self, floor: float) -> Place:
        """The noise: what is no farther from 1 than `floor`, to either side."""
        left, right = self._percent(1 / floor), self._percent(floor)
        return Place(left, 50, round(right - left, 1))

    def _percent(self, value: float) -> float:
        inside = min(max(value, 1 / self.reach), self.reach)
        return round(50 + 50 * math.log(inside) / math.log(self.reach), 1)


@dataclass(frozen=True)
class AnswerLine:
    """One figure at one thread count."""

    metric: MetricInfo  # the one that decides: by the clock, or per CPU-second
    threads: int
    ratios: dict[str, Ratio | None]
    others: dict[str, Ratio | None]  # per CPU-second, or by the clock
    cells: dict[str, Cell | None]
    noise: float | None  # the noise floor
    first_of_metric: bool

    def meanings(self) -> dict[str, str]:
        """lock -> what it means that its two verdicts differ."""
        found = {}
        for lock, ratio in self.ratios.items():
            other = self.others[lock]
            if ratio and other:
                by_clock, per_cpu = (other, ratio) if self.metric.per_cpu_of else (ratio, other)
                found[lock] = meaning(by_clock.verdict, per_cpu.verdict)
        return {lock: text for lock, text in found.items() if text}


@dataclass(frozen=True)
class AnswerGroup:
    """All lines of a workload: the first figures, and the others."""

    workload: Workload
    lines: list[AnswerLine]
    more: list[AnswerLine]

    @property
    def more_names(self) -> str:
        return words(list(dict.fromkeys(line.metric.name for line in self.more)))

    @cached_property
    def tally(self) -> dict[str, dict[str, int]]:
        """lock -> verdict -> how many lines, the decided ones first."""
        counts: dict[str, Counter] = {}
        for line in self.lines:
            for lock, ratio in line.ratios.items():
                counts.setdefault(lock, Counter()).update([ratio.verdict] if ratio else [])
        locks = self.workload.locks
        return {
            lock: {verdict: found[verdict] for verdict in ORDER if found[verdict]}
            for lock in locks
            for found in (counts.get(lock, Counter()),)
        }


@dataclass(frozen=True)
class Answer:
    """The table of the workloads that were compared under the same locks; `other` is the same per CPU-second, or by
    the clock if CPU-seconds lead."""

    locks: list[str]
    against: str
    groups: list[AnswerGroup]
    scale: Scale
    other: "Answer | None" = None

    @property
    def meanings(self) -> dict[str, list[str]]:
        """What it means that clock and CPU seconds differ -> where they do."""
        found: dict[str, dict[tuple, list[int]]] = {}
        for group in self.groups:
            for line in group.lines:
                for lock, text in line.meanings().items():
                    metric = line.metric.per_cpu_of or line.metric.name
                    place = (lock, group.workload.name, metric)
                    found.setdefault(text, {}).setdefault(place, []).append(line.threads)
        return {
            text: [
                f"{lock} in {name} ({metric}, threads: {words(threads)})"
                for (lock, name, metric), threads in of.items()
            ]
            for text, of in found.items()
        }

    @property
    def about(self) -> str:
        """What was swapped, in words."""
        kinds = kinds_of([self.against, *self.locks])
        return words(name for kind, name in CALLED.items() if kind in kinds)

    @property
    def noises(self) -> list[tuple[float, str]]:
        """All noise floors, the least first, and the figure that each is of."""
        return sorted(
            (line.noise, f"{line.metric.name} of {group.workload.name} with {plural(line.threads, 'thread')}")
            for group in self.groups
            for line in group.lines
            if line.noise
        )


def of(campaign: Campaign, taken: dict[str, str | None] | None = None) -> list[Answer]:
    """A table for each set of locks, in the order of the workloads: rwlocks and mutexes do not go side by side.

    `taken` has the lock that the verdict takes, by workload.
    """
    sets: dict[tuple, list[Workload]] = {}
    for workload in campaign.workloads:
        sets.setdefault((tuple(workload.locks), workload.against), []).append(workload)
    return [
        _answer(_in_order(list(locks), against, workloads, taken or {}), against, workloads)
        for (locks, against), workloads in sets.items()
    ]


def _in_order(locks: list[str], against: str, workloads: list[Workload], taken: dict[str, str | None]) -> list[str]:
    """The lock that is taken most often stands right behind the baseline, where a phone shows it."""
    count = Counter(taken.get(workload.name) for workload in workloads)
    columns = compared(locks, against)
    best = max(columns, key=lambda lock: count[lock])
    return [best, *(lock for lock in columns if lock != best)] if count[best] else columns


def _answer(locks: list[str], against: str, workloads: list[Workload]) -> Answer:
    groups = []
    for workload in workloads:
        first, more = split(workload.metrics if workload.measured() else [])
        groups.append(AnswerGroup(workload, _lines(workload, first, locks), _lines(workload, more, locks)))
    others = []
    for workload in workloads:
        first, _ = split(workload.metrics if workload.measured() else [])
        lines = _lines(workload, first, locks, other=True)
        others += [AnswerGroup(workload, lines, [])] if lines else []
    other = Answer(locks, against, others, _scale(others)) if others else None
    return Answer(locks, against, groups, _scale(groups), other)


def _scale(groups: list[AnswerGroup]) -> Scale:
    return Scale.of([ratio for group in groups for line in group.lines for ratio in line.ratios.values() if ratio])


def _lines(workload: Workload, metrics: list[MetricInfo], locks: list[str], other: bool = False) -> list[AnswerLine]:
    """Lines for the figures that lead, or with `other` for the second figure of each pair."""
    pairs = [workload.leading(metric) for metric in metrics]
    lines: list[AnswerLine] = []
    for leading, second in [(two, one) for one, two in pairs if two] if other else pairs:
        for threads in workload.threads:
            cells = {lock: workload.cell(threads, lock) for lock in (workload.against, *locks)}
            if not any(cells.values()):
                continue
            noise = workload.noise(threads, leading)
            lines.append(
                AnswerLine(
                    metric=leading,
                    threads=threads,
                    ratios={lock: workload.ratio(threads, lock, leading) for lock in locks},
                    others={lock: workload.ratio(threads, lock, second) if second else None for lock in locks},
                    cells=cells,
                    noise=noise.floor if noise else None,
                    first_of_metric=not lines or lines[-1].metric is not leading,
                )
            )
    return lines


def tally_words(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) or "no figures"
