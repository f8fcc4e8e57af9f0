"""The page, plots, CSV and JSON of campaigns side by side."""

import csv
import io
import json
import math
import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.base.registry import known_labels
from lockswap.base.text import plural
from lockswap.findings.change import CHANGED, Change
from lockswap.records.folder import make_folder
from lockswap.report import forest, page
from lockswap.report.answer import Scale
from lockswap.report.figure import Panel, Plot, plot
from lockswap.report.palette import LockStyle, Palette
from lockswap.side_by_side import differences
from lockswap.side_by_side.campaigns import Comparison, SideBySide

COLUMNS = (
    "workload", "metric", "threads", "lock", "campaign", "runs", "ok", "median", "unit", "ratio", "ratio_low",
    "ratio_high", "verdict", "noise_floor", "change", "change_low", "change_high", "change_verdict",
)  # fmt: skip


def default_folder(side_by_side: SideBySide) -> Path:
    """A-vs-B beside the campaigns, if they stand in one folder; else in results of this checkout, or here."""
    name = "-vs-".join(re.sub(r"[^A-Za-z0-9._-]+", "-", label) for label in side_by_side.labels)
    around = {folder.resolve().parent for folder in side_by_side.folders}
    if len(around) == 1:
        return around.pop() / name
    results = Paths.find().results
    return (results if results.is_dir() else Path()) / name


def write(side_by_side: SideBySide, out: Path) -> Path:
    """Write everything; the page's path."""
    if (out / "campaign.toml").exists():
        raise UserError(f"{out} is a campaign's folder, whose report would be lost; give another one to --out")
    make_folder(out)
    styles = Palette(known_labels(Paths.find())).styles([*side_by_side.baselines, *side_by_side.locks])
    plots = {name: drawn for name in side_by_side.workloads if (drawn := _plot(side_by_side, name, styles))}
    for drawn in plots.values():
        drawn.save(out / "plots")
    rows = list(_rows(side_by_side))
    files = {"changes.csv": _csv(rows), "changes.json": _json(side_by_side, rows)}
    for name, content in files.items():
        (out / name).write_text(content, encoding="utf-8")
    file = out / "report.html"
    file.write_text(_page(side_by_side, styles, plots, files), encoding="utf-8")
    return file


def _page(side_by_side: SideBySide, styles: dict[str, LockStyle], plots: dict[str, Plot], files: dict[str, str]) -> str:
    changes = [one for line in side_by_side.comparisons for one in line.changes if one]
    return page.render(
        "side_by_side.html.j2",
        styles,
        title=" and ".join(side_by_side.labels),
        kicker="lockswap: campaigns side by side",
        side_by_side=side_by_side,
        letters=letters(side_by_side),
        plots=plots,
        downloads=files,
        scale=Scale.of(changes),
        other_machine=differences.other_machine(side_by_side.differences),
    )


def letters(side_by_side: SideBySide) -> list[str]:
    """A, B, C: short names for tables and plots."""
    return [
        chr(ord("A") + index) if len(side_by_side.labels) <= 26 else str(index + 1)
        for index in range(len(side_by_side.labels))
    ]


def _plot(side_by_side: SideBySide, name: str, styles: dict[str, LockStyle]) -> Plot | None:
    if not any(ratio for line in side_by_side.of(name) for ratio in line.ratios):
        return None
    title, against = side_by_side.workload(name).info["title"], side_by_side.workload(name).against
    panels = []
    for metric in dict.fromkeys(line.metric.name for line in side_by_side.of(name)):
        groups = _groups(side_by_side, styles, [line for line in side_by_side.of(name) if line.metric.name == metric])
        panels.append(
            Panel(
                f"{title}: {metric}, ratio of each lock to {against} in each campaign, with its interval",
                forest.height(groups),
                partial(forest.draw, groups=groups, title=f"{metric}: ratio to {against}"),
            )
        )
    return plot(
        f"{name}-sides",
        f"Ratio to {against} within each campaign, with the 95 % interval; hollow: all but the last campaign; "
        "grey: the larger noise",
        panels,
    )


def _groups(
    side_by_side: SideBySide, styles: dict[str, LockStyle], lines: list[Comparison]
) -> list[forest.ForestGroup]:
    groups = []
    for threads in dict.fromkeys(line.threads for line in lines):
        here = [line for line in lines if line.threads == threads]
        marks = []
        for line in here:
            for index, letter in enumerate(letters(side_by_side)):
                cell = line.cells[index]
                why = cell.failures[0][0] if cell and cell.failures else "not measured"
                marks.append(
                    forest.ForestLine(
                        f"{line.lock}  {letter}" if index == 0 else letter,
                        line.lock,
                        styles[line.lock],
                        line.ratios[index],
                        f"✗ {why}",
                        line.rounds[index],
                        metric=line.metric,
                        hollow=index < len(side_by_side.labels) - 1,
                    )
                )
        noises = [noise for line in here for noise in line.noises if noise]
        groups.append(forest.ForestGroup(plural(threads, "thread"), marks, max(noises, default=None)))
    return groups


def _rows(side_by_side: SideBySide) -> Iterable[dict[str, Any]]:
    """One a figure, thread count, lock and campaign."""
    for line in side_by_side.comparisons:
        for index, label in enumerate(side_by_side.labels):
            cell, ratio, spread = line.cells[index], line.ratios[index], line.medians[index]
            row: dict[str, Any] = {
                "workload": line.workload, "metric": line.metric.name, "threads": line.threads, "lock": line.lock,
                "campaign": label, "runs": len(cell.rows) if cell else 0, "ok": len(cell.good) if cell else 0,
                "unit": line.metric.unit, "noise_floor": line.noises[index],
            }  # fmt: skip
            if spread:
                row["median"] = spread.median
            if ratio:
                row |= {"ratio": ratio.estimate, "ratio_low": ratio.low, "ratio_high": ratio.high}
                row["verdict"] = ratio.verdict
            if index and (change := line.changes[index - 1]):
                row |= {"change": change.estimate, "change_low": change.low, "change_high": change.high}
                row["change_verdict"] = words(change)
            yield row


def words(change: Change) -> str:
    """'changed, better'; 'not changed'; 'can't tell'."""
    if change.verdict != CHANGED:
        return change.verdict
    return f"{CHANGED}, {'better' if change.better else 'worse'}"


def _csv(rows: list[dict[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: f"{value:.7g}" if isinstance(value, float) else value for key, value in row.items()})
    return out.getvalue()


def _json(side_by_side: SideBySide, rows: list[dict[str, Any]]) -> str:
    data = {
        "schema": 1,
        "campaigns": side_by_side.labels,
        "cautions": side_by_side.cautions,
        "differences": {line.what: line.values for line in side_by_side.differences if line.differs},
        "lines": [{key: _finite(value) for key, value in row.items()} for row in rows],
    }
    return json.dumps(data, indent=2, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    """JSON has no infinity."""
    return "infinite" if isinstance(value, float) and math.isinf(value) else value
