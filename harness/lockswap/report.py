"""`lockswap report`: from a campaign's folder to a page, plots, CSV and JSON. Reads nothing but the folder."""

import base64
import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path

import jinja2

from lockswap import advice, plots, runner, sentences, summary, text
from lockswap.registry import BASELINES, PTHREAD
from lockswap.stats import coverage
from lockswap.store import Folder


@dataclass(frozen=True)
class Report:
    """What was made, for the terminal to show."""

    campaign: summary.Campaign
    sentences: dict[str, list[str]]
    advice: list[str]
    page: Path


def make(path: Path) -> Report:
    folder = Folder(path)
    campaign = summary.load(folder)
    said = {workload.name: sentences.of(workload) for workload in campaign.workloads}
    hints = [*campaign.about.get("hints", []), *advice.of(campaign)]
    figures = {workload.name: plots.of(workload) for workload in campaign.workloads}
    for drawn in figures.values():
        for plot in drawn:
            plot.save(path / "plots")

    data = json.dumps(summary.as_json(campaign, said, hints), indent=2, allow_nan=False) + "\n"
    (path / "summary.json").write_text(data, encoding="utf-8")
    table = _csv(campaign)
    (path / "summary.csv").write_text(table, encoding="utf-8")

    downloads = {"summary.csv": table, "summary.json": data}
    for name in ("raw.csv", "checks.json", "env.json", "campaign.toml"):
        if (path / name).exists():
            downloads[name] = (path / name).read_text(encoding="utf-8")
    page = path / "report.html"
    page.write_text(_page(campaign, said, hints, figures, downloads), encoding="utf-8")
    return Report(campaign, said, hints, page)


def _csv(campaign: summary.Campaign) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, summary.SUMMARY_COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    for line in summary.as_table(campaign):
        writer.writerow({key: f"{value:.7g}" if isinstance(value, float) else value for key, value in line.items()})
    return out.getvalue()


def _page(campaign: summary.Campaign, said: dict, hints: list[str], figures: dict, downloads: dict[str, str]) -> str:
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
        "words": text.words,
        "base64": lambda data: base64.b64encode(data.encode()).decode(),
    }
    looks = plots.looks(campaign.locks)
    variables = {light: name for name, (light, _) in plots.THEME.items()}
    return environment.get_template("report.html.j2").render(
        campaign=campaign,
        about=campaign.about,
        env=campaign.env,
        sentences=said,
        advice=hints,
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
