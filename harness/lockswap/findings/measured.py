"""From rows to figures: one Cell a (workload, thread count, lock), each with medians, spreads and ratios."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import Any

from lockswap.base.choice import NONE, PTHREAD, RANGE
from lockswap.base.text import words
from lockswap.findings.measures import MetricInfo
from lockswap.findings.stats import Noise, Ratio, Spread, noise_of, paired_ratio
from lockswap.records.row import GIVEN_UP, Row
from lockswap.records.status import OK

USAGE = ("wall_s", "cpu_s", "max_rss_kb", "context_switches", "cpu_migrations", "page_faults", "cycles", "instructions")
# A lock that was live for less than this part of what the program was without lockswap is judged on all windows.
KEPT = 0.5


def given_up(detail: str) -> bool:
    """A run that was left out because earlier ones of its kind had failed."""
    return detail.startswith(GIVEN_UP)


# Runs shorter than this say as much of the start of the program as of its locks.
SHORT_S = 0.1


@dataclass(frozen=True)
class Place:
    """One figure of one lock at one thread count."""

    metric: MetricInfo
    threads: int
    ratio: Ratio

    @property
    def verdict(self) -> str:
        return self.ratio.verdict

    @property
    def firm(self) -> bool:
        """The whole interval lies beyond the noise, which chance alone hardly ever makes."""
        noise = self.ratio.noise
        return noise is not None and self.ratio.trusted and (self.ratio.low > noise or self.ratio.high * noise < 1)


@dataclass(frozen=True)
class Cell:
    workload: str
    threads: int
    lock: str
    rows: tuple[Row, ...]

    @cached_property
    def good(self) -> list[Row]:
        return [row for row in self.rows if row.status == OK]

    @cached_property
    def failures(self) -> list[tuple[str, str, int]]:
        """(status, detail, how often), the most frequent first; what was not even tried again comes last."""
        counts = Counter((row.status, row.detail) for row in self.rows if row.status != OK)
        found = [(status, detail, times) for (status, detail), times in counts.most_common()]
        return sorted(found, key=lambda failure: given_up(failure[1]))

    @property
    def busy(self) -> int:
        """Runs during which others had the machine."""
        return sum(row.disturbed for row in self.rows)

    @property
    def tried(self) -> int:
        return sum(not given_up(row.detail) for row in self.rows)

    @property
    def used(self) -> list[Row]:
        """The runs behind the figures: all good ones. Those of busy rounds are marked, not dropped."""
        return self.good

    def metric(self, name: str) -> Spread | None:
        return Spread.of(self.values(name))

    def values(self, name: str) -> list[float]:
        return [row.metrics[name] for row in self.good if name in row.metrics]

    def usage(self, name: str) -> Spread | None:
        return Spread.of([row.numbers[name] for row in self.good if name in row.numbers])

    def spread(self, value: Callable[[Row], float | None]) -> Spread | None:
        """The spread of any value that a run has."""
        return Spread.of([found for row in self.used if (found := value(row)) is not None])

    def pairs(self, baseline: "Cell | None", metric: MetricInfo) -> dict[int, tuple[float, float]]:
        """Round by round, this lock's value and that of `baseline`."""
        others = {row.round: row for row in baseline.good if metric.given(row.metrics)} if baseline else {}
        return {
            row.round: (row.metrics[metric.name], others[row.round].metrics[metric.name])
            for row in self.good
            if row.round in others and metric.given(row.metrics)
        }


@dataclass(eq=False)
class Workload:
    """`metrics` are those by the clock; `per_cpu_figures` has, under their names, the same per CPU second, if there is
    such a figure."""

    info: dict[str, Any]
    metrics: list[MetricInfo]
    threads: list[int]
    locks: list[str]
    cells: dict[tuple[int, str], Cell]
    second_runs: dict[int, Cell]  # by thread count: the second run of each round without lockswap
    checks: dict[str, dict[str, Any]] = field(default_factory=dict)
    traces: list[str] = field(default_factory=list)  # files of --perf-record
    against: str = PTHREAD  # the baseline of the ratios
    per_cpu: bool = False  # whether operations per CPU second decide, instead of the clock
    shown: list[MetricInfo] = field(default_factory=list)  # figures of which no lock is the better

    def __post_init__(self) -> None:
        self.per_cpu_figures = {metric.name: figure for metric in self.metrics if (figure := metric.per_cpu_figure)}
        self._found: dict[tuple, Any] = {}

    @property
    def name(self) -> str:
        return self.info["name"]

    @property
    def takes_glibcs(self) -> bool:
        """Whether its baseline is glibc's locks: those of a program with range locks alone are the library's."""
        return self.info.get("takes") != [RANGE]

    @property
    def all_metrics(self) -> list[MetricInfo]:
        """Whatever has a value: by the clock, per CPU second, and those that are only shown."""
        return [*self.metrics, *self.per_cpu_figures.values(), *self.shown]

    def leading(self, metric: MetricInfo) -> tuple[MetricInfo, MetricInfo | None]:
        """The figure that decides, by the clock unless the campaign asked for CPU seconds, and the other one."""
        per_cpu = self.per_cpu_figures.get(metric.name)
        return (per_cpu, metric) if per_cpu and self.per_cpu else (metric, per_cpu)

    def cell(self, threads: int, lock: str) -> Cell | None:
        return self.cells.get((threads, lock))

    def pairs(self, threads: int, lock: str, metric: MetricInfo, baseline: str | None = None) -> dict:
        """Round by round, the lock's value and the baseline's, of the figure that counts for them."""
        cell = self.cell(threads, lock)
        counted = self.counted(threads, lock, metric, baseline)
        return cell.pairs(self.cell(threads, baseline or self.against), counted) if cell else {}

    def round_ratios(self, threads: int, lock: str, metric: MetricInfo, baseline: str | None = None) -> list[float]:
        """The ratios behind `ratio`, one a round, above 1 = better; rounds in which a side got nothing are missing."""
        pairs = self.pairs(threads, lock, metric, baseline).values()
        ratios = [mine / base for mine, base in pairs if mine > 0 and base > 0]
        better = self.counted(threads, lock, metric, baseline).higher_is_better
        return ratios if better else [1 / ratio for ratio in ratios]

    def ratio(
        self, threads: int, lock: str, metric: MetricInfo, baseline: str | None = None, quiet: bool = False
    ) -> Ratio | None:
        """The lock over the baseline (or `against`), with the noise floor; `quiet`: without the busy rounds."""
        key = (threads, lock, metric.name, baseline, quiet)
        if key not in self._found:
            counted = self.counted(threads, lock, metric, baseline)
            pairs = self._quiet(threads, self.pairs(threads, lock, metric, baseline), quiet)
            ratio = paired_ratio(*_columns(pairs), counted.higher_is_better)
            noise = self.noise(threads, counted, quiet)
            self._found[key] = ratio and ratio.with_noise(noise and noise.floor)
        return self._found[key]

    def noise(self, threads: int, metric: MetricInfo, quiet: bool = False) -> Noise | None:
        """The program against itself, without lockswap: below its floor no difference is one."""
        key = (threads, metric.name, quiet)
        if key not in self._found:
            first, second = self.cell(threads, NONE), self.second_runs.get(threads)
            pairs = self._quiet(threads, first.pairs(second, metric) if first else {}, quiet)
            self._found[key] = noise_of(*_columns(pairs))
        return self._found[key]

    def busy_rounds(self, threads: int) -> set[int]:
        """Rounds in which the machine was busy with something else during a run of this thread count."""
        cells = [*(self.cell(threads, lock) for lock in self.locks), self.second_runs.get(threads)]
        return {row.round for cell in cells if cell for row in cell.rows if row.disturbed}

    def _quiet(self, threads: int, pairs: dict, quiet: bool) -> dict:
        busy = self.busy_rounds(threads) if quiet else set()
        return {number: pair for number, pair in pairs.items() if number not in busy}

    def changed_by_busy(self, threads: int, lock: str, metric: MetricInfo, baseline: str | None = None) -> Ratio | None:
        """The ratio without the busy rounds, if enough others are there and its verdict is another one."""
        whole = self.ratio(threads, lock, metric, baseline)
        quiet = self.ratio(threads, lock, metric, baseline, quiet=True)
        differs = whole and quiet and quiet.n < whole.n and quiet.trusted and quiet.verdict != whole.verdict
        return quiet if differs else None

    def kept(self, threads: int, lock: str, metric: MetricInfo) -> float | None:
        """The share of its time that counted for a figure of live stretches: the median over the rounds.

        0 for a lock that has runs without such a figure; None without lockswap: then no share is the normal one.
        """
        cell = self.cell(threads, lock)
        spread = cell.metric(metric.kept) if cell and metric.kept else None
        if spread is None:
            return 0.0 if cell and cell.good and lock != NONE else None
        return spread.median

    def counted(self, threads: int, lock: str, metric: MetricInfo, baseline: str | None = None) -> MetricInfo:
        """The figure itself, or the one over all the time where too little of the lock's time was live."""
        if not metric.kept:
            return metric
        normal = self.kept(threads, NONE, metric)
        shares = [self.kept(threads, name, metric) for name in (lock, baseline or self.against)]
        if normal is None or all(share is None or share >= KEPT * normal for share in shares):
            return metric
        return next(other for other in self.all_metrics if other.name == metric.instead)

    def happens(self, metric: MetricInfo) -> bool:
        """Whether any run at all has something of it: reads alone leave nothing to say of writes."""
        return any(value for cell in self.cells.values() for value in cell.values(metric.name))

    @property
    def awaited(self) -> list[MetricInfo]:
        """The figures that decide: rates and times; only where a workload has none of them, all."""
        there = [metric for metric in self.metrics if self.happens(metric)]
        return [metric for metric in there if metric.name in self.per_cpu_figures or metric.kept] or there

    def where(self, threads: list[int]) -> str:
        """' with 2 and 4 threads', ' at every thread count, 1 and 2'."""
        if self.info.get("own") and len(self.threads) == 1:
            return ""
        if len(threads) == len(self.threads) > 1:
            return f" at every thread count, {words(threads)}"
        return f" with {words(threads)} thread{'' if threads == [1] else 's'}"

    @property
    def is_short(self) -> bool:
        walls = [row.numbers["wall_s"] for cell in self.cells.values() for row in cell.good if "wall_s" in row.numbers]
        return bool(walls) and median(walls) < SHORT_S

    def measured(self) -> bool:
        return any(cell.good for cell in self.cells.values())


def compared(locks: list[str], baseline: str = PTHREAD) -> list[str]:
    """What is set against the baseline: the program as it is, beside which it stands, then the locks."""
    return sorted((lock for lock in locks if lock != baseline), key=lambda lock: lock != NONE)


def _columns(pairs: dict[int, tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [mine for mine, _ in pairs.values()], [other for _, other in pairs.values()]


@dataclass
class Campaign:
    about: dict[str, Any]
    env: dict[str, Any]
    rows: list[Row]
    workloads: list[Workload]

    @property
    def locks(self) -> list[str]:
        return self.about["locks"]

    @property
    def against(self) -> str:
        return against(self.about)


def against(about: dict[str, Any]) -> str:
    return about.get("against", PTHREAD)
