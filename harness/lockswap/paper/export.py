"""`lockswap export`: a campaign as a folder that can be put beside a paper."""

import json
import shutil
import sys
from pathlib import Path

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.base.registry import Registry, known_labels
from lockswap.findings import reading
from lockswap.findings.findings import Findings
from lockswap.paper import citation, container, tables
from lockswap.paper.versions import versions
from lockswap.records import durable
from lockswap.records.folder import Folder, make_folder
from lockswap.report import drawing, paper_page, writer
from lockswap.report.palette import Palette

# By this file a folder is known as an export, which may be written again.
MARK = "versions.json"
RAW = ("raw.csv", "checks.json", "env.json", "campaign.toml")
README = """# Campaign {name}

{verdict}

The campaign compared {locks}.
It was measured by lockswap {version}, commit {commit}, on {os}.

| file | what |
| --- | --- |
| `data/raw.csv` | a line for each run |
| `data/summary.csv` | a line for each workload, thread count, lock and figure: median, ratio with interval, verdict |
| `data/*.parquet` | the same two as Parquet, if the export could write it |
| `data/campaign.toml`, `data/env.json`, `data/checks.json` | settings, machine, counted acquisitions |
| `plots/` | the plots, as PDF with embedded fonts and as SVG, if the export could draw them |
| `versions.json` | the machine and all versions |
| `Containerfile` | runs the same comparison again; its head says how |
| `CITATION.cff` | how to cite lockswap and the papers of these locks |

`docs/results.md` of lockswap describes each column and how each figure is made.
"""


def run(paths: Paths, campaign: Path, to: Path | None) -> int:
    findings = reading.read(campaign)
    folder = to or Path(f"{findings.campaign.about['name']}-export")
    _prepare(folder)
    _write_data(findings, folder / "data")
    _write_plots(paths, findings, folder / "plots")
    _write_about(paths, findings, folder)
    files = [file for file in folder.rglob("*") if file.is_file()]
    print(f"{folder}: {len(files)} files; its README.md says what they are")
    if not tables.can_write_parquet():
        print(f"lockswap: note: CSV alone; for Parquet as well: {tables.how_to_get_it(paths)}", file=sys.stderr)
    return 0


def _prepare(folder: Path) -> None:
    """A new or empty folder, or one that an export wrote before."""
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARK).is_file():
        raise UserError(f"{folder} has other files; give another folder to --to")
    make_folder(folder)
    for name in ("data", "plots"):
        shutil.rmtree(folder / name, ignore_errors=True)
        make_folder(folder / name)


def _write_data(findings: Findings, folder: Path) -> None:
    for name in RAW:
        if (source := findings.folder / name).exists():
            # The last line may be incomplete, if the campaign was killed.
            (folder / name).write_bytes(durable.whole(source.read_bytes()))
    (folder / "summary.csv").write_text(writer.summary(findings.campaign), encoding="utf-8")
    if tables.can_write_parquet():
        for name in ("raw", "summary"):
            tables.write_parquet(folder / f"{name}.csv", folder / f"{name}.parquet")


def _write_plots(paths: Paths, findings: Findings, folder: Path) -> None:
    if no_plots := drawing.cure(paths):
        drawing.warn("export", no_plots, "this command")
        return
    from lockswap.report import paper_plots, plots  # load matplotlib, which an installation may lack

    known, campaign = known_labels(paths), findings.campaign
    if (measured := paper_page.measured_of(campaign)) is not None:
        drawn = paper_plots.of(measured, paper_page.styles_of(measured, known))
    else:
        styles = Palette(known).styles(campaign.locks)
        drawn = [plot for workload in campaign.workloads for plot in plots.of(workload, styles)]
    for plot in drawn:
        (folder / f"{plot.name}.svg").write_text(plot.svg, encoding="utf-8")
        (folder / f"{plot.name}.pdf").write_bytes(plot.pdf())


def _write_about(paths: Paths, findings: Findings, folder: Path) -> None:
    about, env = findings.campaign.about, Folder(findings.folder).env()
    papers = citation.papers_of(findings.campaign.locks, about.get("policies", {}), Registry.load(paths))
    version, commit = env.get("lockswap", {}).get("library", "unknown"), container.commit_of(env)
    texts = {
        MARK: json.dumps(versions(about, env), indent=2) + "\n",
        "Containerfile": container.containerfile(about, env),
        "CITATION.cff": citation.text(papers, version, commit),
        "README.md": README.format(
            name=about["name"],
            verdict="\n".join(findings.brief),
            locks=", ".join(f"`{lock}`" for lock in findings.campaign.locks),
            version=version,
            commit=commit,
            os=env.get("os", "a system that was not recorded"),
        ),
    }
    for name, content in texts.items():
        (folder / name).write_text(content, encoding="utf-8")
