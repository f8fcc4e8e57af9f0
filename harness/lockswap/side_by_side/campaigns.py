"""Campaigns side by side: for each figure that all of them have, the ratio within each, and how it changed."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lockswap.base.choice import NONE
from lockswap.base.errors import UserError
from lockswap.base.text import as_word, plural, words
from lockswap.findings import loading
from lockswap.findings.change import CHANGED, UNCHANGED, Change, change
from lockswap.findings.measured import Campaign, Cell, Workload, compared
from lockswap.findings.measures import MetricInfo, split
from lockswap.findings.stats import OPEN, Ratio, Spread
from lockswap.records.folder import Folder
from lockswap.side_by_side import differences
from lockswap.side_by_side.differences import Difference


@dataclass(frozen=True)
class Comparison:
    """One workload, figure, thread count and lock. Entries belong to the campaigns, in their order."""

    workload: str
    metric: MetricInfo
    threads: int
    lock: str
    cells: tuple[Cell | None, ...]
    ratios: tuple[Ratio | None, ...]
    rounds: tuple[list[float], ...]  # the ratios of single rounds
    changes: tuple[Change | None, ...]  # of each later campaign against the first
    noises: tuple[float | None, ...]  # noise floors
    medians: tuple[Spread | None, ...]  # the lock's own figures, which no one should compare between machines


@dataclass
class SideBySide:
    """`labels` are the campaigns' names, made unique."""

    folders: list[Path]
    labels: list[str]
    campaigns: list[Campaign]
    workloads: list[str]  # those that all have
    comparisons: list[Comparison]
    differences: list[Difference]

    @cached_property
    def locks(self) -> list[str]:
        return sorted(dict.fromkeys(line.lock for line in self.comparisons), key=lambda lock: lock == NONE)

    @property
    def letters(self) -> list[str]:
        """A, B, C: short names for tables and plots; numbers if there are too many campaigns."""
        many = len(self.labels) > 26
        return [str(index + 1) if many else chr(ord("A") + index) for index in range(len(self.labels))]

    @property
    def baselines(self) -> list[str]:
        """What the ratios are to: one, or one for rwlocks and one for mutexes."""
        return list(dict.fromkeys(self.workload(name).against for name in self.workloads))

    def workload(self, name: str) -> Workload:
        """As the first campaign has it."""
        return _workload(self.campaigns[0], name)

    def of(self, name: str) -> list[Comparison]:
        return [line for line in self.comparisons if line.workload == name]

    def first(self, name: str) -> list[Comparison]:
        """Those of the figures with which a report begins."""
        return [line for line in self.of(name) if line.metric in self._split(name)[0]]

    def more(self, name: str) -> list[Comparison]:
        return [line for line in self.of(name) if line.metric in self._split(name)[1]]

    def more_names(self, name: str) -> str:
        return words([metric.name for metric in self._split(name)[1]])

    def _split(self, name: str) -> tuple[list[MetricInfo], list[MetricInfo]]:
        return split(list(dict.fromkeys(line.metric for line in self.of(name))))

    @cached_property
    def cautions(self) -> list[str]:
        return list(_cautions(self))

    def tally(self, number: int) -> dict[str, int]:
        """verdict -> how many lines, of the campaign with this number against the first."""
        found = [line.changes[number - 1] for line in self.comparisons]
        verdicts = [one.verdict for one in found if one]
        return {verdict: verdicts.count(verdict) for verdict in (CHANGED, UNCHANGED, OPEN)}


def read(folders: list[Path]) -> SideBySide:
    """Raises UserError if the campaigns cannot be set side by side."""
    campaigns = [_load(folder) for folder in folders]
    for index, folder in enumerate(folders):
        if folder.resolve() in {other.resolve() for other in folders[:index]}:
            raise UserError(f"{folder} is given twice; name different campaigns")
    labels = _labels([campaign.about["name"] for campaign in campaigns])
    named = [{workload.name for workload in campaign.workloads} for campaign in campaigns]
    shared = [workload.name for workload in campaigns[0].workloads if all(workload.name in some for some in named)]
    if not shared:
        lists = "; ".join(f"{label}: {', '.join(sorted(some))}" for label, some in zip(labels, named, strict=True))
        raise UserError(f"the campaigns have no workload in common ({lists})")
    for name in shared:
        baselines = {_workload(campaign, name).against for campaign in campaigns}
        if len(baselines) > 1:
            raise UserError(f"the campaigns' ratios are to different baselines: {words(sorted(baselines))}")
    comparisons = [one for name in shared for one in _comparisons(campaigns, name)]
    if not comparisons:
        raise UserError(f"the campaigns share {words(shared)}, but no lock at a common thread count")
    return SideBySide(folders, labels, campaigns, shared, comparisons, differences.find(campaigns, shared))


def _load(folder: Path) -> Campaign:
    campaign = loading.load(Folder(folder))
    if not campaign.about["finished"]:
        raise UserError(
            f"the campaign in {folder} is unfinished; 'lockswap compare --resume {as_word(folder)}' measures the rest"
        )
    return campaign


def _labels(names: list[str]) -> list[str]:
    return [f"{name} ({index})" if names.count(name) > 1 else name for index, name in enumerate(names, 1)]


def _workload(campaign: Campaign, name: str) -> Workload:
    return next(workload for workload in campaign.workloads if workload.name == name)


def _comparisons(campaigns: list[Campaign], name: str) -> Iterable[Comparison]:
    workloads = [_workload(campaign, name) for campaign in campaigns]
    first, *others = workloads
    # Those by the clock, or per CPU-second if these decided in the first campaign.
    names = [first.leading(metric)[0].name for metric in first.metrics]
    metrics = [found for name in names if all(found := [_metric(workload, name) for workload in workloads])]
    threads = [count for count in first.threads if all(count in other.threads for other in others)]
    locks = [lock for lock in first.locks if all(lock in other.locks for other in others)]
    for found in metrics:
        for count in threads:
            for lock in compared(locks, first.against):
                yield _comparison(workloads, found, count, lock)


def _metric(workload: Workload, name: str) -> MetricInfo | None:
    return next((metric for metric in workload.all_metrics if metric.name == name), None)


def _comparison(workloads: list[Workload], metrics: list[MetricInfo], threads: int, lock: str) -> Comparison:
    figures = list(zip(workloads, metrics, strict=True))
    pairs = [list(workload.pairs(threads, lock, metric).values()) for workload, metric in figures]
    higher = [workload.counted(threads, lock, metric).higher_is_better for workload, metric in figures]
    noises = [noise.floor if (noise := workload.noise(threads, metric)) else None for workload, metric in figures]

    def floor(number: int) -> float | None:
        known = [noise for noise in (noises[0], noises[number]) if noise]
        return max(known, default=None)

    cells = [workload.cell(threads, lock) for workload in workloads]
    return Comparison(
        workload=workloads[0].name,
        metric=metrics[0],
        threads=threads,
        lock=lock,
        cells=tuple(cells),
        ratios=tuple(workload.ratio(threads, lock, metric) for workload, metric in figures),
        rounds=tuple(workload.round_ratios(threads, lock, metric) for workload, metric in figures),
        changes=tuple(
            change(pairs[0], pairs[number], (higher[0], higher[number]), floor(number))
            for number in range(1, len(workloads))
        ),
        noises=tuple(noises),
        medians=tuple(cell.metric(metric.name) if cell else None for cell, metric in zip(cells, metrics, strict=True)),
    )


def _cautions(side_by_side: SideBySide) -> Iterable[str]:
    machine = differences.other_machine(side_by_side.differences)
    if machine:
        yield (
            f"The machines differ ({machine}). Ratios within a campaign may be set side by side with care; absolute "
            "figures of different machines say nothing about a lock."
        )
    for name in side_by_side.workloads:
        work = {f"{name}: {what}": what for what in differences.WORK}
        changed = [work[line.what] for line in side_by_side.differences if line.differs and line.what in work]
        if changed:
            yield f"{name} is not the same in all campaigns: {words(changed)} differ. A change may come from that."
    unknown = [
        label
        for label, noise in zip(
            side_by_side.labels, zip(*(line.noises for line in side_by_side.comparisons), strict=True), strict=True
        )
        if not any(noise)
    ]
    if unknown:
        yield (
            f"The noise, the program against itself, was not measured in {words(unknown)}. Where no campaign has it, "
            "a change is judged by its interval alone."
        )
    tested = [one for line in side_by_side.comparisons for one in line.changes if one]
    if len(tested) >= 20:
        yield (
            f"Of {plural(len(tested), 'comparison')} some {round(len(tested) / 20)} would be called changed by chance "
            "if nothing had."
        )
