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
from lockswap.base.text import plural
from lockswap.findings.change import CHANGED, Change
from lockswap.records.folder import make_folder
from lockswap.report import forest, page
from lockswap.report.answer import Scale
from lockswap.report.figure import Panel, Plot, plot
from lockswap.report.palette import looks
from lockswap.side_by_side import differences
from lockswap.side_by_side.campaigns import Line, Sides

COLUMNS = (
    "workload", "metric", "threads", "lock", "campaign", "runs", "ok", "median", "unit", "ratio", "ratio_low",
    "ratio_high", "verdict", "noise_floor", "change", "change_low", "change_high", "change_verdict",
)  # fmt: skip


def default_folder(sides: Sides) -> Path:
    """results/A-vs-B of this checkout; without one, the current folder's A-vs-B."""
    name = "-vs-".join(re.sub(r"[^A-Za-z0-9._-]+", "-", label) for label in sides.labels)
    results = Paths.find().results
    return (results if results.is_dir() else Path()) / name


def write(sides: Sides, out: Path) -> Path:
    """Write everything; the page's path."""
    if (out / "campaign.toml").exists():
        raise UserError(f"{out} is a campaign's folder, whose report would be lost; give another one to --out")
    make_folder(out)
    plots = {name: drawn for name in sides.workloads if (drawn := _plot(sides, name))}
    for drawn in plots.values():
        drawn.save(out / "plots")
    rows = list(_rows(sides))
    files = {"changes.csv": _csv(rows), "changes.json": _json(sides, rows)}
    for name, content in files.items():
        (out / name).write_text(content, encoding="utf-8")
    file = out / "report.html"
    file.write_text(_page(sides, plots, files), encoding="utf-8")
    return file


def _page(sides: Sides, plots: dict[str, Plot], files: dict[str, str]) -> str:
    changes = [one for line in sides.lines for one in line.changes if one]
    return page.render(
        "side_by_side.html.j2",
        _shown(sides),
        title=" and ".join(sides.labels),
        kicker="lockswap: campaigns side by side",
        sides=sides,
        letters=letters(sides),
        plots=plots,
        downloads=files,
        scale=Scale.of(changes),
        other_machine=differences.other_machine(sides.differences),
    )


def letters(sides: Sides) -> list[str]:
    """A, B, C: short names for tables and plots."""
    return [chr(ord("A") + index) if len(sides.labels) <= 26 else str(index + 1) for index in range(len(sides.labels))]


def _plot(sides: Sides, name: str) -> Plot | None:
    if not any(ratio for line in sides.of(name) for ratio in line.ratios):
        return None
    title, against = sides.workload(name).info["title"], sides.workload(name).against
    panels = []
    for metric in dict.fromkeys(line.metric.name for line in sides.of(name)):
        groups = _groups(sides, [line for line in sides.of(name) if line.metric.name == metric])
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


def _groups(sides: Sides, lines: list[Line]) -> list[forest.Group]:
    look = looks(_shown(sides))
    groups = []
    for threads in dict.fromkeys(line.threads for line in lines):
        here = [line for line in lines if line.threads == threads]
        marks = []
        for line in here:
            for index, letter in enumerate(letters(sides)):
                cell = line.cells[index]
                why = cell.failures[0][0] if cell and cell.failures else "not measured"
                marks.append(
                    forest.Line(
                        f"{line.lock}  {letter}" if index == 0 else letter,
                        line.lock,
                        look[line.lock],
                        line.ratios[index],
                        f"✗ {why}",
                        line.rounds[index],
                        hollow=index < len(sides.labels) - 1,
                    )
                )
        noises = [noise for line in here for noise in line.noises if noise]
        groups.append(forest.Group(plural(threads, "thread"), marks, max(noises, default=None)))
    return groups


def _shown(sides: Sides) -> list[str]:
    """All locks, baselines first."""
    return list(dict.fromkeys([*sides.baselines, *sides.locks]))


def _rows(sides: Sides) -> Iterable[dict[str, Any]]:
    """One a figure, thread count, lock and campaign."""
    for line in sides.lines:
        for index, label in enumerate(sides.labels):
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


def _json(sides: Sides, rows: list[dict[str, Any]]) -> str:
    data = {
        "schema": 1,
        "campaigns": sides.labels,
        "cautions": sides.cautions,
        "differences": {line.what: line.values for line in sides.differences if line.differs},
        "lines": [{key: _finite(value) for key, value in row.items()} for row in rows],
    }
    return json.dumps(data, indent=2, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    """JSON has no infinity."""
    return "infinite" if isinstance(value, float) and math.isinf(value) else value
