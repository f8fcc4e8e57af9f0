"""What a campaign found, as JSON and as a table for CSV. docs/results.md has the columns."""

import math
from typing import Any

from lockswap.base.choice import NONE
from lockswap.findings.measured import USAGE, Campaign, Cell, MetricInfo, Workload
from lockswap.findings.stats import Noise, Ratio
from lockswap.findings.whole import Verdict
from lockswap.records.folder import SCHEMA


def as_json(
    campaign: Campaign, sentences: dict[str, list[str]], advice: list[str], verdict: Verdict, brief: list[str]
) -> dict[str, Any]:
    verdicts = {one.workload: one for one in verdict.workloads}
    return {
        "schema": SCHEMA,
        "campaign": campaign.about["name"],
        "finished": campaign.about["finished"],
        "against": campaign.against,
        "brief": brief,
        "verdict": verdict.sentence,
        "advice": advice,
        "workloads": [
            {
                "name": workload.name,
                "title": workload.info["title"],
                "verdict": {
                    "kind": verdicts[workload.name].kind,
                    "lock": verdicts[workload.name].lock,
                    "sentence": verdicts[workload.name].sentence,
                    "cautions": verdicts[workload.name].cautions,
                },
                "sentences": sentences[workload.name],
                "checks": list(workload.checks.values()),
                "traces": workload.traces,
                "busy_rounds": {str(threads): sorted(workload.busy_rounds(threads)) for threads in workload.threads},
                "noise": [
                    {"threads": threads, "metric": metric.name, **_noise_json(noise)}
                    for threads in workload.threads
                    for metric in (*workload.metrics, *workload.per_cpu_figures.values())
                    if (noise := workload.noise(threads, metric))
                ],
                "cells": [_cell_json(workload, cell) for cell in workload.cells.values()],
            }
            for workload in campaign.workloads
        ],
    }


def _noise_json(noise: Noise) -> dict[str, Any]:
    return {"pairs": noise.n, "low": noise.low, "high": noise.high, "floor": noise.floor}


def _cell_json(workload: Workload, cell: Cell) -> dict[str, Any]:
    metrics = {}
    for metric in workload.all_metrics:
        spread = cell.metric(metric.name)
        if spread is None:
            continue
        metrics[metric.name] = vars(spread) | {"unit": metric.unit, "role": metric.role, "better": metric.better}
        if metric in workload.shown:
            continue
        for baseline in dict.fromkeys((workload.against, NONE)):
            ratio = workload.ratio(cell.threads, cell.lock, metric, baseline) if cell.lock != baseline else None
            if ratio is not None:
                metrics[metric.name][f"ratio_to_{baseline}"] = _ratio_json(ratio) | {
                    "figure": workload.counted(cell.threads, cell.lock, metric, baseline).name,
                    "without_busy_rounds": _ratio_json(quiet)
                    if (quiet := workload.changed_by_busy(cell.threads, cell.lock, metric, baseline))
                    else None,
                }
    usage = {name: vars(spread) for name in USAGE if (spread := cell.usage(name))}
    return {
        "threads": cell.threads,
        "lock": cell.lock,
        "runs": len(cell.rows),
        "ok": len(cell.good),
        "busy": cell.busy,
        "failures": [{"status": s, "detail": d, "times": n} for s, d, n in cell.failures],
        "metrics": metrics,
        "usage": usage,
    }


def _ratio_json(ratio: Ratio) -> dict[str, Any]:
    return {key: _finite(value) for key, value in vars(ratio).items()} | {"verdict": ratio.verdict}


def _finite(value: float | None) -> float | str | None:
    """JSON has no infinity."""
    return "infinite" if value == math.inf else value


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
    "busy",
    "median",
    "low",
    "high",
    "q1",
    "q3",
    "against",
    "ratio",
    "ratio_low",
    "ratio_high",
    "noise",
    "verdict",
    "verdict_without_busy",
    "cpu_s",
    "context_switches",
    "max_rss_kb",
    "failures",
)


def as_table(campaign: Campaign) -> list[dict[str, Any]]:
    """One line a workload, thread count, lock and figure; failed cells have a line too."""
    lines = []
    for workload in campaign.workloads:
        for threads in workload.threads:
            for lock in workload.locks:
                cell = workload.cell(threads, lock)
                for metric in workload.all_metrics if cell else ():
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
        "busy": cell.busy,
        "failures": "; ".join(f"{times} x {status}: {detail}" for status, detail, times in cell.failures),
    }
    spread = cell.metric(metric.name)
    if spread:
        line |= {"median": spread.median, "low": spread.low, "high": spread.high, "q1": spread.q1, "q3": spread.q3}
    judged = cell.lock != workload.against and metric not in workload.shown
    ratio = workload.ratio(cell.threads, cell.lock, metric) if judged else None
    if ratio:
        quiet = workload.changed_by_busy(cell.threads, cell.lock, metric)
        line |= {
            "against": workload.against,
            "ratio": ratio.estimate,
            "ratio_low": ratio.low,
            "ratio_high": ratio.high,
            "noise": "" if ratio.noise is None else ratio.noise,
            "verdict": ratio.verdict,
            "verdict_without_busy": (quiet or ratio).verdict,
        }
    for name in ("cpu_s", "context_switches", "max_rss_kb"):
        usage = cell.usage(name)
        line[name] = usage.median if usage else ""
    return line
