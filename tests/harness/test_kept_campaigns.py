"""The campaigns under results/ that are committed: complete, small, of no machine, and what their index quotes."""

import csv
import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

from git_files import git_files
from harness_support import ROOT
from lockswap.base.text import times
from lockswap.findings import reading
from lockswap.findings.measured import compared
from lockswap.findings.stats import SLOWER

MOST_BYTES = 4 * 1000 * 1000
# That of ./run.sh --full, of which the README has a picture.
MAIN = ROOT / "results/2026-11-seven-locks"
# Its locks that give threads no turns.
BARGING = ("auto", "eventual")


def kept() -> list[Path]:
    """Folders of campaigns with a committed file (or one that git would take); notes and predictions stand beside."""
    parts = [Path(name).parts for name in git_files("results")]
    folders = {part[1] for part in parts if len(part) > 2} - {"notes", "predictions"}
    return sorted(ROOT / "results" / folder for folder in folders)


def files(campaign: Path) -> list[Path]:
    return [ROOT / name for name in git_files(campaign)]


def test_there_is_one() -> None:
    assert MAIN in kept()


@pytest.mark.parametrize("campaign", kept(), ids=lambda path: path.name)
def test_it_is_complete_and_small(campaign: Path) -> None:
    names = {file.name for file in files(campaign)}
    assert names >= {"campaign.toml", "env.json", "checks.json", "raw.csv", "report.html"}
    assert sum(file.stat().st_size for file in files(campaign)) <= MOST_BYTES
    about = tomllib.loads((campaign / "campaign.toml").read_text())
    assert about["finished"] and about["name"] == campaign.name
    assert campaign.name in (ROOT / "results/README.md").read_text()


@pytest.mark.parametrize("campaign", kept(), ids=lambda path: path.name)
def test_it_has_no_path_and_no_name_of_a_machine(campaign: Path) -> None:
    env = json.loads((campaign / "env.json").read_text())
    assert "host" not in " ".join(env).lower() and "node" not in env
    for file in files(campaign):
        if file.suffix in (".toml", ".json", ".csv", ".html", ".txt"):
            text = re.sub(r"base64,[\w+/=]*", "", file.read_text())
            found = re.findall(r"(?<![\w.])/(?:home|root|work|tmp|var|usr/local|mnt|srv)/[\w./-]+", text)
            assert not found, f"{file.name}: {found[:3]}"


@pytest.mark.parametrize("campaign", kept(), ids=lambda path: path.name)
def test_its_report_says_what_its_data_say(campaign: Path) -> None:
    """A report of an earlier version would say other words than this one."""
    page = re.sub(r"</?span[^>]*>", "", (campaign / "report.html").read_text()).replace("&#39;", "'")
    verdict = reading.read(campaign).verdict
    campaigns = [verdict.opening] if verdict.opening else verdict.sentences
    for sentence in (*campaigns, *(one.sentence for one in verdict.workloads), verdict.caution):
        assert sentence in page


def test_the_table_of_the_index_is_that_of_the_campaign() -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    from campaign_table import table

    assert "\n".join(table(reading.read(MAIN).campaign)) in (ROOT / "results/README.md").read_text()


def test_the_loss_that_the_index_has_is_that_of_the_campaign() -> None:
    campaign = reading.read(MAIN).campaign
    (workload,) = [one for one in campaign.workloads if one.name == "kcprototest-order"]
    writes = next(metric for metric in workload.metrics if metric.name == "set+remove")
    strict = [lock for lock in compared(workload.locks, workload.against) if lock not in ("none", *BARGING)]
    ratios = [workload.ratio(8, lock, writes) for lock in strict]
    worst, *_, best = sorted(ratios, key=lambda ratio: ratio.estimate)
    says = f"{times(best.estimate)} to {times(worst.estimate)} lower under each of"
    assert len(ratios) == 5 and all(ratio.verdict == SLOWER for ratio in ratios)
    assert says in (ROOT / "results/README.md").read_text()


def test_the_number_of_runs_that_the_index_gives() -> None:
    with (MAIN / "raw.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    text = (ROOT / "results/README.md").read_text()
    assert f"{len(rows):,} runs" in text and all(row["status"] == "ok" for row in rows)
    assert f"{sum(row['disturbed'] == '1' for row in rows)} runs had less" in text
