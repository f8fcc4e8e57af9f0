"""`lockswap report`: from a campaign's folder to a page, plots, CSV and JSON.

The figures come from the folder alone; the registry of this tree only chooses the colours of the locks.
"""

import csv
import io
import json
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from lockswap.base.paths import Paths
from lockswap.base.registry import known_labels
from lockswap.base.text import as_word, words
from lockswap.figures.values import Measured
from lockswap.findings import measured, picture
from lockswap.findings.findings import Findings
from lockswap.findings.verdict import glibcs
from lockswap.records.folder import make_folder
from lockswap.records.status import OK
from lockswap.report import answer, drawing, export, page, paper_page
from lockswap.report.console import short
from lockswap.report.palette import LockStyle, Palette

if TYPE_CHECKING:
    from lockswap.report.figure import Plot

# The class of a square of the picture, which says its colours.
TONES = {
    picture.BETTER: "good",
    picture.WORSE: "bad",
    picture.MIXED: "hinted",
    picture.SAME: "even",
    picture.OPEN: "open",
    picture.FAILED: "broken",
    picture.MISSING: "open",
}


def write(findings: Findings, out: Path | None = None) -> Path:
    """Write everything that is derived, into the campaign's folder unless `out` names another; the page's path."""
    folder, campaign = findings.folder, findings.campaign
    path = out or folder
    make_folder(path)
    paths = Paths.find()
    no_plots = drawing.cure(paths)
    if no_plots:
        drawing.warn("report", no_plots, f"'lockswap report {as_word(short(folder))}'")

    advice = list(map(str, findings.advice))
    data = export.as_json(campaign, findings.sentences, advice, findings.verdict, findings.brief)
    derived = {
        "summary.csv": summary(campaign),
        "summary.json": json.dumps(data, indent=2, allow_nan=False) + "\n",
    }
    for name, content in derived.items():
        (path / name).write_text(content, encoding="utf-8")

    raw = [folder / name for name in ("raw.csv", "checks.json", "env.json", "campaign.toml")]
    downloads = derived | {file.name: file.read_text(encoding="utf-8") for file in raw if file.exists()}
    file = path / "report.html"
    measured = paper_page.measured_of(campaign)
    make = _campaign_page if measured is None else partial(_paper_page, measured)
    file.write_text(make(findings, paths, path / "plots", no_plots, downloads), encoding="utf-8")
    return file


def _campaign_page(findings: Findings, paths: Paths, to: Path, no_plots: str | None, downloads: dict[str, str]) -> str:
    campaign = findings.campaign
    styles = Palette(known_labels(paths)).styles(campaign.locks)
    drawn = _draw(campaign, styles, None if no_plots else to)
    return _page(findings, styles, drawn, no_plots, downloads)


def _paper_page(
    measured: Measured, findings: Findings, paths: Paths, to: Path, no_plots: str | None, downloads: dict[str, str]
) -> str:
    """Of a campaign that is about a paper's figure."""
    campaign = findings.campaign
    styles = paper_page.styles_of(measured, known_labels(paths))
    plots = []
    if no_plots is None:
        from lockswap.report import paper_plots  # loads matplotlib, which an installation may lack

        plots = paper_plots.of(measured, styles)
        for plot in plots:
            plot.save(to)
    return page.render(
        "paper.html.j2",
        styles,
        title=measured.figure.heading,
        kicker="lockswap paper",
        campaign=campaign,
        about=campaign.about,
        env=campaign.env,
        rounds=max((row.round for row in campaign.rows), default=0),
        plots=plots,
        no_plots=no_plots,
        downloads=downloads,
        **paper_page.variables(measured),
    )


def _draw(campaign: measured.Campaign, styles: dict[str, LockStyle], to: Path | None) -> "dict[str, list[Plot]]":
    """The plots of each workload, saved in `to`; without a folder there are none."""
    if to is None:
        return {workload.name: [] for workload in campaign.workloads}
    from lockswap.report import plots  # loads matplotlib, which an installation may lack

    drawn = {workload.name: plots.of(workload, styles) for workload in campaign.workloads}
    for found in drawn.values():
        for plot in found:
            plot.save(to)
    return drawn


def summary(campaign: measured.Campaign) -> str:
    """The text of summary.csv."""
    out = io.StringIO()
    writer = csv.DictWriter(out, export.SUMMARY_COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    for line in export.as_table(campaign):
        writer.writerow({key: f"{value:.7g}" if isinstance(value, float) else value for key, value in line.items()})
    return out.getvalue()


def _scale(workload: measured.Workload) -> str:
    """The thread counts, and whose they are: 'reader threads (plus one writer): 1, 2 and 4'."""
    return f"{workload.info.get('threads_label', 'threads')}: {words(workload.threads)}"


def _page(
    findings: Findings,
    styles: dict[str, LockStyle],
    drawn: "dict[str, list[Plot]]",
    no_plots: str | None,
    downloads: dict[str, str],
) -> str:
    campaign = findings.campaign
    answers = answer.of(campaign, {one.workload: one.lock for one in findings.verdict.workloads})
    return page.render(
        "report.html.j2",
        styles,
        title=campaign.about["name"],
        kicker="lockswap campaign",
        campaign=campaign,
        about=campaign.about,
        env=campaign.env,
        rounds=max((row.round for row in campaign.rows), default=0),
        runs={
            "all": len(campaign.rows),
            "failed": sum(row.status != OK for row in campaign.rows),
            "disturbed": sum(row.disturbed for row in campaign.rows),
        },
        answers=answers,
        noises=sorted(noise for one in answers for noise in one.noises),
        sentences=findings.sentences,
        advice=list(map(str, findings.advice)),
        pictures=list(zip_longest(findings.pictures, findings.brief)),
        verdict=findings.verdict,
        verdicts={one.workload: one for one in findings.verdict.workloads},
        kinds={group.workload.name: one.about for one in answers for group in one.groups},
        titles={workload.name: workload.info["title"] for workload in campaign.workloads},
        tones=TONES,
        scales={workload.name: _scale(workload) for workload in campaign.workloads},
        ours={workload.name: glibcs(workload) for workload in campaign.workloads},
        by_lock=findings.verdict.locks,
        by="per CPU-second" if campaign.about.get("per_cpu") else "by the clock",
        other_by="by the clock" if campaign.about.get("per_cpu") else "per CPU-second",
        plots=drawn,
        no_plots=no_plots,
        downloads=downloads,
        baselines=list(dict.fromkeys(workload.against for workload in campaign.workloads)),
        status_ok=OK,
    )
