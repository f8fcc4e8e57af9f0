"""From rows to figures: one Cell a (workload, thread count, lock), each with medians, spreads and ratios."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from lockswap import runner
from lockswap.registry import NONE, PTHREAD
from lockswap.stats import MIN_PAIRS, Ratio, Spread, paired_ratio
from lockswap.store import GIVEN_UP, Folder, Row

USAGE = ("wall_s", "cpu_s", "max_rss_kb", "context_switches", "cpu_migrations", "page_faults", "cycles", "instructions")


def given_up(detail: str) -> bool:
    """A run that was left out because earlier ones of its kind had failed."""
    return detail.startswith(GIVEN_UP)


@dataclass(frozen=True)
class MetricInfo:
    name: str
    role: str
    unit: str
    better: str

    @property
    def higher_is_better(self) -> bool:
        return self.better == "higher"


@dataclass(frozen=True)
class Cell:
    workload: str
    threads: int
    lock: str
    rows: tuple[Row, ...]

    @cached_property
    def good(self) -> list[Row]:
        return [row for row in self.rows if row.status == runner.OK]

    @cached_property
    def used(self) -> list[Row]:
        """The runs behind the figures: without the disturbed ones if enough remain."""
        return _undisturbed(self.good, lambda row: row.disturbed)

    @property
    def left_out(self) -> int:
        return len(self.good) - len(self.used)

    @cached_property
    def failures(self) -> list[tuple[str, str, int]]:
        """(status, detail, how often), the most frequent first; what was not even tried again comes last."""
        counts = Counter((row.status, row.detail) for row in self.rows if row.status != runner.OK)
        found = [(status, detail, times) for (status, detail), times in counts.most_common()]
        return sorted(found, key=lambda failure: given_up(failure[1]))

    @property
    def tried(self) -> int:
        return sum(not given_up(row.detail) for row in self.rows)

    def metric(self, name: str) -> Spread | None:
        return Spread.of([row.metrics[name] for row in self.used if name in row.metrics])

    def values(self, name: str) -> list[float]:
        return [row.metrics[name] for row in self.used if name in row.metrics]

    def usage(self, name: str) -> Spread | None:
        return Spread.of([row.numbers[name] for row in self.used if name in row.numbers])

    def spread(self, value: Callable[[Row], float | None]) -> Spread | None:
        """Of anything that can be had from a run."""
        return Spread.of([found for row in self.used if (found := value(row)) is not None])

    def pairs(self, baseline: "Cell | None", metric: MetricInfo) -> list[tuple[float, float]]:
        """This lock's value and that of `baseline` in the same round; without disturbed runs if enough remain."""
        others = {row.round: row for row in baseline.good} if baseline else {}
        pairs = [
            (row, others[row.round])
            for row in self.good
            if row.round in others and metric.name in row.metrics and metric.name in others[row.round].metrics
        ]
        pairs = _undisturbed(pairs, lambda pair: pair[0].disturbed or pair[1].disturbed)
        return [(mine.metrics[metric.name], base.metrics[metric.name]) for mine, base in pairs]

    def ratio(self, baseline: "Cell | None", metric: MetricInfo) -> Ratio | None:
        """This lock over `baseline`, round by round."""
        pairs = self.pairs(baseline, metric)
        return paired_ratio([mine for mine, _ in pairs], [base for _, base in pairs], metric.higher_is_better)


def _undisturbed(items: list, disturbed) -> list:
    quiet = [item for item in items if not disturbed(item)]
    return quiet if len(quiet) >= MIN_PAIRS else items


@dataclass
class Workload:
    info: dict[str, Any]
    metrics: list[MetricInfo]
    threads: list[int]
    locks: list[str]
    cells: dict[tuple[int, str], Cell]
    checks: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.info["name"]

    def cell(self, threads: int, lock: str) -> Cell | None:
        return self.cells.get((threads, lock))

    def ratio(self, threads: int, lock: str, metric: MetricInfo, baseline: str = PTHREAD) -> Ratio | None:
        cell = self.cell(threads, lock)
        return cell.ratio(self.cell(threads, baseline), metric) if cell else None

    def round_ratios(self, threads: int, lock: str, metric: MetricInfo, baseline: str = PTHREAD) -> list[float]:
        """The ratios behind `ratio`, one a round, above 1 = better; rounds in which a side got nothing are missing."""
        cell = self.cell(threads, lock)
        pairs = cell.pairs(self.cell(threads, baseline), metric) if cell else []
        ratios = [mine / base for mine, base in pairs if mine > 0 and base > 0]
        return ratios if metric.higher_is_better else [1 / ratio for ratio in ratios]

    def measured(self) -> bool:
        return any(cell.good for cell in self.cells.values())


def compared(locks: list[str]) -> list[str]:
    """What is set against pthread: the locks that were asked for, then the program as it is."""
    return sorted((lock for lock in locks if lock != PTHREAD), key=lambda lock: lock == NONE)


@dataclass
class Campaign:
    about: dict[str, Any]
    env: dict[str, Any]
    rows: list[Row]
    workloads: list[Workload]

    @property
    def locks(self) -> list[str]:
        return self.about["locks"]


def load(folder: Folder) -> Campaign:
    about = folder.campaign()
    rows = folder.rows()
    checks = folder.checks()
    workloads = [_workload(info, about["locks"], rows, checks) for info in about["workload"]]
    return Campaign(about, folder.env(), rows, workloads)


def _workload(info: dict, locks: list[str], rows: Iterable[Row], checks: Iterable[dict]) -> Workload:
    grouped: dict[tuple[int, str], list[Row]] = {}
    for row in rows:
        if row.workload == info["name"]:
            grouped.setdefault((row.threads, row.lock), []).append(row)
    return Workload(
        info=info,
        metrics=[MetricInfo(m["name"], m["role"], m["unit"], m["better"]) for m in info["metric"]],
        threads=info["threads"],
        locks=locks,
        cells={key: Cell(info["name"], *key, tuple(found)) for key, found in grouped.items()},
        # After a resumed campaign there may be several: the last one counts.
        checks={check["lock"]: check for check in checks if check["workload"] == info["name"]},
    )


def as_json(campaign: Campaign, sentences: dict[str, list[str]], advice: list[str]) -> dict[str, Any]:
    return {
        "schema": 1,
        "campaign": campaign.about["name"],
        "finished": campaign.about["finished"],
        "advice": advice,
        "workloads": [
            {
                "name": workload.name,
                "title": workload.info["title"],
                "sentences": sentences[workload.name],
                "checks": list(workload.checks.values()),
                "cells": [_cell_json(workload, cell) for cell in workload.cells.values()],
            }
            for workload in campaign.workloads
        ],
    }


def _cell_json(workload: Workload, cell: Cell) -> dict[str, Any]:
    metrics = {}
    for metric in workload.metrics:
        spread = cell.metric(metric.name)
        if spread is None:
            continue
        metrics[metric.name] = vars(spread) | {"unit": metric.unit, "role": metric.role, "better": metric.better}
        for baseline in (PTHREAD, NONE):
            ratio = workload.ratio(cell.threads, cell.lock, metric, baseline) if cell.lock != baseline else None
            if ratio is not None:
                metrics[metric.name][f"ratio_to_{baseline}"] = {
                    key: _finite(value) for key, value in vars(ratio).items()
                } | {"verdict": ratio.verdict}
    usage = {name: vars(spread) for name in USAGE if (spread := cell.usage(name))}
    return {
        "threads": cell.threads,
        "lock": cell.lock,
        "runs": len(cell.rows),
        "ok": len(cell.good),
        "disturbed": sum(row.disturbed for row in cell.rows),
        "left_out": cell.left_out,
        "failures": [{"status": s, "detail": d, "times": n} for s, d, n in cell.failures],
        "metrics": metrics,
        "usage": usage,
    }


def _finite(value: float) -> float | str:
    """JSON has no infinity."""
    return "infinite" if value == float("inf") else value


SUMMARY_COLUMNS = (
    "workload",
    "threads",
    "lock",
    "metric",
    "role",
    "unit",
    "better",
    "runs",
    "ok",
    "used",
    "median",
    "low",
    "high",
    "q1",
    "q3",
    "ratio_to_pthread",
    "ratio_low",
    "ratio_high",
    "verdict",
    "cpu_s",
    "context_switches",
    "max_rss_kb",
    "failures",
)


def as_table(campaign: Campaign) -> list[dict[str, Any]]:
    """One line a workload, thread count, lock and metric; failed cells have a line too."""
    lines = []
    for workload in campaign.workloads:
        for threads in workload.threads:
            for lock in workload.locks:
                cell = workload.cell(threads, lock)
                for metric in workload.metrics if cell else ():
                    lines.append(_line(workload, cell, metric))
    return lines


def _line(workload: Workload, cell: Cell, metric: MetricInfo) -> dict[str, Any]:
    line: dict[str, Any] = {
        "workload": workload.name,
        "threads": cell.threads,
        "lock": cell.lock,
        "metric": metric.name,
        "role": metric.role,
        "unit": metric.unit,
        "better": metric.better,
        "runs": len(cell.rows),
        "ok": len(cell.good),
        "used": len(cell.used),
        "failures": "; ".join(f"{times} x {status}: {detail}" for status, detail, times in cell.failures),
    }
    spread = cell.metric(metric.name)
    if spread:
        line |= {"median": spread.median, "low": spread.low, "high": spread.high, "q1": spread.q1, "q3": spread.q3}
    ratio = workload.ratio(cell.threads, cell.lock, metric) if cell.lock != PTHREAD else None
    if ratio:
        line |= {
            "ratio_to_pthread": ratio.estimate,
            "ratio_low": ratio.low,
            "ratio_high": ratio.high,
            "verdict": ratio.verdict,
        }
    for name in ("cpu_s", "context_switches", "max_rss_kb"):
        usage = cell.usage(name)
        line[name] = usage.median if usage else ""
    return line
