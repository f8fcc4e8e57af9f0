"""`lockswap export`: the folder has all figures, plots, versions, a recipe that repeats the campaign, and citations."""

import csv
import json
import os
import re
import shlex
import shutil
import tomllib
from pathlib import Path

import pytest
from cffconvert import Citation

import synthetic
from harness_support import ROOT, Lockswap, one_line_error
from lockswap.base.paths import Paths
from lockswap.base.registry import Registry
from lockswap.findings import reading
from lockswap.paper import citation, container, export, tables
from lockswap.paper.papers import PAPERS
from lockswap.report import drawing, writer

REGISTRY = ROOT / "build/bin/lockswap-registry"
needs_registry = pytest.mark.skipif(not REGISTRY.exists(), reason="skipped: the library is not built")


CAMPAIGN = ROOT / "results/2026-11-locktorture"


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of one lock in one workload, so that little is drawn."""
    metrics = [synthetic.metric("ops", "total", "ops/s", "higher")]
    figures = {lock: {"ops": [1e6, 2e6]} for lock in ("none", "pthread", "ba")}
    return synthetic.plain(tmp_path_factory.mktemp("campaign") / "made-up", ("w", metrics, figures))


@pytest.fixture(scope="module")
def exported(checkout: Path, campaign: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    kit = tmp_path_factory.mktemp("papers") / "kit"
    done = Lockswap(checkout).inside("export", campaign, "--to", kit)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{kit}: {len(files(kit))} files; its README.md says what they are\n"
    return kit


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines))


def test_what_is_there(campaign: Path, exported: Path, lockswap, tmp_path: Path) -> None:
    assert {"Containerfile", "CITATION.cff", "README.md", "versions.json"} <= set(files(exported))
    assert (exported / "data/raw.csv").read_bytes() == (campaign / "raw.csv").read_bytes()
    assert lockswap.inside("report", campaign, "--out", tmp_path / "report", "--silent").returncode == 0
    assert (exported / "data/summary.csv").read_bytes() == (tmp_path / "report/summary.csv").read_bytes()
    drawn = {path.stem for path in (tmp_path / "report/plots").glob("*.svg")}
    assert drawn and {path.stem for path in (exported / "plots").glob("*.pdf")} == drawn
    for plot in sorted((exported / "plots").glob("*.pdf")):
        pdf = plot.read_bytes()
        assert pdf.startswith(b"%PDF-") and b"/FontFile2" in pdf and b"/Type3" not in pdf, plot
        assert plot.with_suffix(".svg").read_text() == (tmp_path / f"report/plots/{plot.stem}.svg").read_text()


def test_parquet_has_the_same_figures(exported: Path, tmp_path: Path) -> None:
    """Those of a campaign in which everything goes wrong, too."""
    from arro3.io import read_parquet

    bad = synthetic.write(tmp_path / "made-up", rounds=6)
    tables.write_parquet(bad / "raw.csv", bad / "raw.parquet")
    (bad / "summary.csv").write_text(writer.summary(reading.read(bad).campaign))
    tables.write_parquet(bad / "summary.csv", bad / "summary.parquet")
    for file in (exported / "data/raw", exported / "data/summary", bad / "raw", bad / "summary"):
        table = read_parquet(file.with_suffix(".parquet")).read_all()
        expected = rows(file.with_suffix(".csv"))
        assert table.num_rows == len(expected) and table.column_names == list(expected[0])
        for column in expected[0]:
            found = [value.as_py() for value in table.column(column)]
            for text, value in zip((row[column] for row in expected), found, strict=True):
                assert (text or None) == value if isinstance(value, str) else (float(text) if text else None) == value
    threads = read_parquet(exported / "data/raw.parquet").read_all().column("threads")
    assert isinstance(threads[0].as_py(), int)


def test_without_the_libraries_there_is_csv_alone_and_a_line_each(lockswap, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(tables, "can_write_parquet", lambda: False)
    monkeypatch.setattr(drawing, "cure", lambda _: "install it")
    done = lockswap.inside("export", CAMPAIGN, "--to", tmp_path / "kit")
    assert done.returncode == 0
    plots, parquet = done.stderr.splitlines()
    assert plots == (
        "lockswap: the export has no plots, because matplotlib is missing: install it; then this command draws them"
    )
    assert re.fullmatch(r"lockswap: note: CSV alone; for Parquet as well: \S.* install .*arro3-io", parquet)
    assert not [name for name in files(tmp_path / "kit") if name.endswith(".parquet")]


def test_versions(campaign: Path, exported: Path) -> None:
    found = json.loads((exported / "versions.json").read_text())
    assert found["measured_on"] == json.loads((campaign / "env.json").read_text())
    assert found["campaign"]["name"] == campaign.name
    assert {"matplotlib", "numpy"} <= set(found["exported_with"]["packages"])


def test_the_environment_of_a_campaign_has_packages(lockswap, recipe, repo: Path) -> None:
    recipe("sample")
    own_path = {"PATH": os.environ["PATH"]}  # without the tests' dpkg-query
    words = ("-w", "sample", "-l", "ba", "-t", "1", "-r", "1", "--no-report", "--out", repo / "one")
    done = lockswap("compare", *words, env=own_path)
    assert done.returncode == 0, done.stderr
    env = json.loads((repo / "one/env.json").read_text())
    assert "click" in env["python"]["packages"]
    if Path("/usr/bin/dpkg-query").exists():
        assert re.match(r"2\.\d+-", env["packages"]["libc6"])


def test_the_command_of_the_container_repeats_the_campaign(
    lockswap, recipe, repo: Path, tmp_path: Path, monkeypatch
) -> None:
    recipe("sample")
    words = ("-w", "sample", "-l", "ba,bravo-ba", "-t", "1", "-r", "2", "--no-report", "--name=first")
    assert lockswap("compare", *words).returncode == 0
    monkeypatch.setattr(export, "_write_plots", lambda *_: None)
    assert lockswap.inside("export", repo / "results/first", "--to", tmp_path / "kit").returncode == 0
    last = (tmp_path / "kit/Containerfile").read_text().splitlines()[-1]
    program, compare, *options = json.loads(last.removeprefix("CMD "))
    assert (program, compare) == ("build/bin/lockswap", "compare")
    options = [option.replace("/results/", f"{tmp_path}/again/") for option in options]
    assert lockswap("compare", *options).returncode == 0
    first, again = (rows(folder / "raw.csv") for folder in (repo / "results/first", tmp_path / "again/first"))
    order = ("run", "round", "workload", "threads", "lock", "twin")
    assert [[row[key] for key in order] for row in first] == [[row[key] for key in order] for row in again]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("lockswap compare -l ba --seed 3 -- ./p --name x", "--out /results/n -l ba --seed 3 -- ./p --name x"),
        ("lockswap compare --name n --out=/tmp/n -w all", "--out /results/n -w all --seed 7"),
        ("lockswap compare -o /tmp/n -w all", "--out /results/n -w all --seed 7"),
        ("lockswap compare -o/tmp/n -w all", "--out /results/n -w all --seed 7"),
        ("lockswap compare --metric 'a b' -- ./p", "--out /results/n --metric 'a b' --seed 7 -- ./p"),
    ],
)
def test_options_of_the_place_go_and_those_of_the_program_stay(given: str, expected: str) -> None:
    found = container.rerun({"command_line": given, "name": "n", "seed": 7})
    assert found == ["build/bin/lockswap", "compare", *shlex.split(expected)]


@pytest.mark.parametrize(
    ("system", "line"),
    [
        ("Debian GNU/Linux 12 (bookworm)", "FROM debian:12"),
        ("Ubuntu 24.04.1 LTS", "FROM ubuntu:24.04"),
        ("Something else", "# Its system was Something else; this is one on which lockswap is tested."),
    ],
)
def test_the_system_of_the_container_is_that_of_the_campaign(system: str, line: str) -> None:
    about = {"name": "Mine! 2", "command_line": "lockswap compare -l ba -- ./p", "workload": [{"own": True}]}
    text = container.containerfile(about, {"os": system, "lockswap": {"commit": "0123456789ab-dirty"}})
    assert line in text.splitlines()
    assert "checkout 0123456789ab\n" in text and "podman build -t mine-2 ." in text


def test_a_folder_of_others_is_left_alone(lockswap, exported: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes").touch()
    assert "has other files" in one_line_error(lockswap.inside("export", CAMPAIGN, "--to", tmp_path / "mine"))
    assert files(tmp_path / "mine") == ["notes"]
    assert "no campaign" in one_line_error(lockswap.inside("export", tmp_path / "mine"))


def test_an_export_may_be_written_again_and_is_the_same(
    lockswap, campaign: Path, exported: Path, tmp_path: Path
) -> None:
    again = shutil.copytree(exported, tmp_path / "again")
    (again / "plots/old.svg").touch()
    assert lockswap.inside("export", campaign, "--to", again).returncode == 0
    assert files(again) == files(exported)
    for name in files(exported):
        assert (again / name).read_bytes() == (exported / name).read_bytes(), name


def valid(text: str) -> None:
    """Throws what cffconvert complains of."""
    Citation(text).validate()


def test_the_citation_of_the_repository_is_this_version_s_and_valid() -> None:
    text = (ROOT / "CITATION.cff").read_text()
    assert text == citation.text(), "made by lockswap.paper.citation.text()"
    valid(text)


@needs_registry
def test_each_paper_that_the_registry_names_is_known() -> None:
    registry = Registry.load(Paths(ROOT, ROOT / "build"))
    locks = (*registry.rwlocks, *registry.mutexes, *registry.range_locks)
    unknown = [
        lock.source
        for lock in locks
        if re.search(r"\b(19|20)\d\d\b", lock.source) and not any(paper.cited in lock.source for paper in PAPERS)
    ]
    assert unknown == []
    assert [paper.cited for paper in PAPERS if not any(paper.cited in lock.source for lock in locks)] == []
    labels = [lock.name for lock in registry.rwlocks] + [f"mutex:{lock.name}" for lock in registry.mutexes]
    labels += [f"range:{lock.name}" for lock in registry.range_locks]
    assert citation.papers_of(labels, {}, registry) == list(PAPERS)
    valid(citation.text(PAPERS, "0.1.0", "0123456789ab"))


@needs_registry
def test_a_lock_over_another_has_the_papers_of_both() -> None:
    registry = Registry.load(Paths(ROOT, ROOT / "build"))
    families = registry.families(registry.rwlocks)
    for family in families:
        for base in family.bases:
            both = set(citation.papers_of([family.prefix + base], {}, registry))
            assert set(citation.papers_of([base], {}, registry)) <= both
            assert both == set(citation.papers_of([], {"p": f"module=x rwlock={family.prefix + base}"}, registry))


def test_the_list_of_the_pages_has_each_paper() -> None:
    listed = (ROOT / "docs/algorithms.md").read_text().partition("\n## Papers\n")[2].lower()
    for paper in PAPERS:
        title = paper.title.partition(":")[0].lower()
        line = next((line for line in listed.splitlines() if title in line), "")
        assert str(paper.year) in line and paper.people[0][1].lower() in line, paper.title


def test_each_paper_has_its_doi_but_for_those_of_usenix_and_reports() -> None:
    for paper in PAPERS:
        assert bool(paper.doi) != (paper.kind == "report" or paper.place.startswith("USENIX")), paper.title
    quoted = citation.text(PAPERS)
    assert all(f'doi: "{paper.doi}"' in quoted for paper in PAPERS if paper.doi)


def test_pins_have_what_the_extra_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert any(one.startswith(tables.NAME) for one in project["optional-dependencies"]["parquet"])
    pins = (ROOT / "harness/requirements-dev.txt").read_text().splitlines()
    assert any(line.startswith(f"{tables.NAME}==") for line in pins)
