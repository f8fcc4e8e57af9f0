"""`lockswap report`: from a campaign's folder to a page, plots, CSV and JSON. Reads nothing but the folder."""

import base64
import csv
import io
import json
from pathlib import Path

import jinja2

from lockswap import plots, runner, sentences, summary, text
from lockswap.findings import Findings
from lockswap.registry import BASELINES, PTHREAD
from lockswap.stats import coverage


def make(findings: Findings) -> Path:
    """Write everything that is derived; the page's path."""
    path, campaign = findings.folder, findings.campaign
    figures = {workload.name: plots.of(workload) for workload in campaign.workloads}
    for drawn in figures.values():
        for plot in drawn:
            plot.save(path / "plots")

    data = summary.as_json(campaign, findings.sentences, findings.advice)
    derived = {
        "summary.csv": _csv(campaign),
        "summary.json": json.dumps(data, indent=2, allow_nan=False) + "\n",
    }
    for name, content in derived.items():
        (path / name).write_text(content, encoding="utf-8")

    raw = [path / name for name in ("raw.csv", "checks.json", "env.json", "campaign.toml")]
    downloads = derived | {file.name: file.read_text(encoding="utf-8") for file in raw if file.exists()}
    page = path / "report.html"
    page.write_text(_page(findings, figures, downloads), encoding="utf-8")
    return page


def _csv(campaign: summary.Campaign) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, summary.SUMMARY_COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    for line in summary.as_table(campaign):
        writer.writerow({key: f"{value:.7g}" if isinstance(value, float) else value for key, value in line.items()})
    return out.getvalue()


def _page(findings: Findings, figures: dict, downloads: dict[str, str]) -> str:
    campaign = findings.campaign
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("lockswap"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "si": text.si,
        "times": text.times,
        "share": text.share,
        "interval": sentences.interval,
        "words": text.words,
        "base64": lambda data: base64.b64encode(data.encode()).decode(),
    }
    looks = plots.looks(campaign.locks)
    variables = {light: name for name, (light, _) in plots.THEME.items()}
    return environment.get_template("report.html.j2").render(
        campaign=campaign,
        about=campaign.about,
        env=campaign.env,
        sentences=findings.sentences,
        advice=findings.advice,
        figures={name: [(plot, plot.themed()) for plot in drawn] for name, drawn in figures.items()},
        downloads=downloads,
        theme=plots.THEME,
        color={lock: variables[look.color] for lock, look in looks.items()},
        overview=_overview(campaign),
        baselines=BASELINES,
        pthread=PTHREAD,
        coverage=coverage(campaign.about["repeats"]),
        status_ok=runner.OK,
        quantity=text.quantity,
        plural=text.plural,
    )


def _overview(campaign: summary.Campaign) -> list[dict]:
    """The first table: each workload's metrics at its most threads that gave a ratio, one column a lock."""
    lines = []
    for workload in campaign.workloads:
        for metric in workload.metrics:
            if metric.role == "total" and len(workload.metrics) > 2:
                continue
            for threads in workload.threads:
                ratios = {lock: workload.ratio(threads, lock, metric) for lock in workload.locks if lock != PTHREAD}
                cells = {lock: workload.cell(threads, lock) for lock in workload.locks}
                if any(cells.values()):
                    lines.append(
                        {"workload": workload, "metric": metric, "threads": threads, "ratios": ratios, "cells": cells}
                    )
    return lines
