"""The page, plots, CSV and JSON of campaigns side by side."""

import csv
import io
import json
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.base.registry import known_labels
from lockswap.findings.change import CHANGED, Change
from lockswap.records.folder import make_folder
from lockswap.report import drawing, page
from lockswap.report.answer import Scale
from lockswap.report.palette import LockStyle, Palette
from lockswap.side_by_side import differences
from lockswap.side_by_side.campaigns import SideBySide

if TYPE_CHECKING:
    from lockswap.report.figure import Plot

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
    paths = Paths.find()
    styles = Palette(known_labels(paths)).styles([*side_by_side.baselines, *side_by_side.locks])
    no_plots = drawing.cure(paths)
    if no_plots:
        drawing.warn(no_plots, "this command")
    drawn = {} if no_plots else _draw(side_by_side, styles, out / "plots")
    rows = list(_rows(side_by_side))
    files = {"changes.csv": _csv(rows), "changes.json": _json(side_by_side, rows)}
    for name, content in files.items():
        (out / name).write_text(content, encoding="utf-8")
    file = out / "report.html"
    file.write_text(_page(side_by_side, styles, drawn, no_plots, files), encoding="utf-8")
    return file


def _draw(side_by_side: SideBySide, styles: dict[str, LockStyle], to: Path) -> "dict[str, Plot]":
    """The plot of each workload that has one, saved in `to`."""
    from lockswap.side_by_side import plots  # loads matplotlib, which an installation may lack

    drawn = {name: plot for name in side_by_side.workloads if (plot := plots.of(side_by_side, name, styles))}
    for plot in drawn.values():
        plot.save(to)
    return drawn


def _page(
    side_by_side: SideBySide,
    styles: dict[str, LockStyle],
    drawn: "dict[str, Plot]",
    no_plots: str | None,
    files: dict[str, str],
) -> str:
    changes = [one for line in side_by_side.comparisons for one in line.changes if one]
    return page.render(
        "side_by_side.html.j2",
        styles,
        title=" and ".join(side_by_side.labels),
        kicker="lockswap: campaigns side by side",
        side_by_side=side_by_side,
        letters=side_by_side.letters,
        plots=drawn,
        no_plots=no_plots,
        downloads=files,
        scale=Scale.of(changes),
        other_machine=differences.other_machine(side_by_side.differences),
    )


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
