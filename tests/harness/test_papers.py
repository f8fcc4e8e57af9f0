"""Figures of papers: their files, what is run for them, whether a statement holds, one from the command to its page.

The rules of statements are judged on made-up ratios; the figures that come with lockswap are read and planned, not run.
"""

import json
import math
import random
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from harness_support import ROOT, one_line_error
from lockswap.base.choice import NONE, Choice
from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.base.registry import Registry
from lockswap.campaign import figure_jobs
from lockswap.campaign.request import Request
from lockswap.figures import judge, reader
from lockswap.figures.figure import Figure, Point, Y
from lockswap.figures.judge import HIT, MISS, OPEN
from lockswap.figures.points import Axis, axis_of, needed, shortened, thread_counts
from lockswap.findings import loading
from lockswap.findings.measures import MetricInfo
from lockswap.findings.stats import Ratio
from lockswap.recipes import reader as recipes
from lockswap.records.folder import Folder, RawWriter
from lockswap.records.row import Row
from lockswap.report import paper_page, paper_plots

OURS = Paths(ROOT, ROOT / "build")
FIGURES = reader.load_all(OURS)
RECIPES = recipes.load_all(OURS.recipes, OURS.structure_recipes)
MEASURED = [figure for figure in FIGURES.values() if not figure.missing]
# Every figure and table of the papers that shows a measurement; 35, and two that are the kernel's alone.
OF_PAPERS = {
    *(f"bravo-{n}" for n in range(2, 11)), "bravo-table-1", "bravo-table-2",
    *(f"range-{n}" for n in range(3, 9)),
    *(f"rlu-{n}" for n in range(4, 13)),
    *(f"bonsai-{n}" for n in range(13, 19)), "bonsai-table-1",
    *(f"ldu-{n}" for n in range(7, 10)), "ldu-table-1",
}  # fmt: skip

FIGURE = """
schema   = 1
name     = "{name}"
paper    = "A paper"
number   = "figure 1"
title    = "Readers of one lock"
workload = "rw"
{more}

[[line]]
name = "stock"
lock = "pthread"

[[line]]
name = "BA"
lock = "ba"

[[y]]
name    = "operations"
unit    = "ops/s"
better  = "higher"
metrics = ["reads", "writes"]

[[y]]
name   = "writes"
unit   = "writes/s"
better = "higher"

[[says]]
text   = "BA does more than stock."
better = ["BA", "stock"]
{rule}
"""


@pytest.fixture(scope="module")
def registry() -> Registry:
    return Registry.load(OURS)


def test_each_figure_of_the_papers_is_there_or_says_why_not() -> None:
    assert set(FIGURES) == OF_PAPERS
    assert all(len(figure.missing) > 20 for figure in FIGURES.values() if figure.missing)
    assert len(MEASURED) == 35


@pytest.mark.parametrize("figure", MEASURED, ids=lambda figure: figure.name)
def test_each_figure_names_what_exists(figure: Figure, registry: Registry) -> None:
    """Its recipes and their parameters, locks, and the metrics of each axis."""
    known = {lock.name for lock in registry.rwlocks}
    ranges = {lock.name for lock in registry.range_locks}
    jobs = figure_jobs.jobs(figure, RECIPES, Request(), 8)
    assert figure.says, "a figure says something that can be checked"
    there: set[str] = set()
    for job in jobs:
        choices = [Choice.of(lock) for lock in job.locks if lock != NONE]
        assert {choice.rwlock for choice in choices} <= known
        assert {choice.range_lock for choice in choices if choice.range_lock} <= ranges
        infos = [MetricInfo(metric.name, metric.role, metric.unit, metric.better) for metric in job.recipe.metrics]
        there |= {info.name for info in infos} | {one.name for info in infos if (one := info.per_cpu_figure)}
    for y in figure.ys:
        for line in filter(y.has, figure.lines):
            assert set(y.names(line, False)) <= there, y.name
            assert y.regex or set(y.names(line, True)) <= there or y.cpu == tuple(f"{m} per CPU-s" for m in y.metrics)


def test_a_variant_has_the_metrics_of_its_own_lines() -> None:
    """Where a table isn't resized there is no number of resizes."""
    jobs = figure_jobs.jobs(FIGURES["rlu-6"], RECIPES, Request(), 8)
    counted = {job.recipe.name: any("resizes" in metric.name for metric in job.recipe.metrics) for job in jobs}
    assert counted == {"rlu-6-8k": False, "rlu-6-16k": False, "rlu-6-8k-16k": True}


@pytest.mark.parametrize("figure", MEASURED, ids=lambda figure: figure.name)
def test_a_short_run_is_shorter(figure: Figure) -> None:
    less = replace(figure, xs=shortened(figure))
    whole, short = (
        figure_jobs.jobs(one, RECIPES, Request(quick=quick), 8) for one, quick in ((figure, False), (less, True))
    )
    runs = [sum(len(job.threads) * job.seconds for job in jobs) for jobs in (whole, short)]
    assert runs[1] <= runs[0] and len(short) <= len(whole)


# --- what is run


def parse(text: str) -> Figure:
    import tomllib

    return reader.parse(tomllib.loads(text), "here")


def figure(rule: str = "", more: str = "") -> Figure:
    return parse(FIGURE.format(name="test-1", more=more, rule=rule))


def test_threads_go_up_to_the_machine_and_beyond() -> None:
    assert thread_counts(figure(), 6, quick=False) == (1, 2, 4, 6, 12, 24)
    assert thread_counts(figure(), 6, quick=True) == (1, 6, 12)
    assert thread_counts(figure(more="beside = 1"), 2, quick=False) == (1, 2, 4)
    assert axis_of(figure(more="beside = 1"), (1, 2, 4), 2) == Axis(("1", "2", "4"), 1)
    assert axis_of(figure(more="sleeps = true"), (1, 2, 4), 2).fitting == 3


def test_lines_that_are_locks_share_a_workload_and_others_have_their_own() -> None:
    assert [(one.name, one.locks) for one in needed(figure())] == [("test-1", (NONE, "pthread", "ba"))]
    variants = FIGURE.replace('lock = "pthread"', "params = {{ kind = 1 }}").replace(
        'lock = "ba"', "params = {{ kind = 2 }}"
    )
    found = needed(parse(variants.format(name="test-1", more="", rule="")))
    assert [(one.name, one.locks, one.params["kind"]) for one in found] == [
        ("test-1-stock", (NONE,), 1),
        ("test-1-ba", (NONE,), 2),
    ]


@pytest.mark.parametrize(
    ("more", "rule", "said"),
    [
        ("speed = 3", "", "speed: is not a key"),
        ("threads = 0", "", "threads: is 0"),
        ("", 'same = ["BA", "stock"]', "needs exactly one of better, same"),
        ("", 'at = "often"', "may be 'fewest', 'most', 'all'"),
        ("", 'y = "reads"', "no such name 'reads'"),
        ("", 'panels = ["a"]', "no such name 'a'"),
    ],
)
def test_a_wrong_file_is_refused(more: str, rule: str, said: str) -> None:
    with pytest.raises(UserError, match=re.escape(said)):
        figure(rule, more)


# --- whether a statement holds


@dataclass
class MadeUp:
    """Ratios of lines by place on the axis; the same noise everywhere."""

    figure: Figure
    ratios: dict[tuple[str, int], tuple[float, float, float]]  # estimate, low, high
    rounds: int = 7
    processors: int = 4
    axis: Axis = field(default_factory=lambda: Axis(("1", "2", "4", "8"), 3))

    def ratio(self, one: Point, other: Point, y: Y, better: bool) -> Ratio | None:
        found = self.ratios.get((f"{one.line.name} to {other.line.name}", one.x))
        return Ratio(self.rounds, *found, noise=1.05) if found else None

    def why_missing(self, point: Point) -> str:
        return "crashed: it died" if point.line.name == "BA" else ""


def judged(rule: str, *ratio: float, x: int = 2, rounds: int = 7, lines: str = "BA to stock") -> judge.Judged:
    text = FIGURE.format(name="test-1", more="", rule="").replace('better = ["BA", "stock"]', rule)
    found = judge.judge(MadeUp(parse(text), {(lines, x): ratio} if ratio else {}, rounds))
    return found[0]


PAIR = '["BA", "stock"]'


@pytest.mark.parametrize(
    ("rule", "ratio", "outcome"),
    [
        (f"better = {PAIR}", (1.5, 1.3, 1.7), HIT),
        (f"better = {PAIR}", (0.8, 0.7, 0.9), MISS),
        (f"better = {PAIR}", (1.2, 0.9, 1.4), OPEN),
        (f"better = {PAIR}", (1.03, 1.01, 1.04), OPEN),  # within the noise
        (f"better = {PAIR}\nby = 2", (2.5, 2.2, 2.9), HIT),
        (f"better = {PAIR}\nby = 2", (1.5, 1.3, 1.7), MISS),
        (f"same = {PAIR}", (1.02, 0.9, 1.1), HIT),
        (f"same = {PAIR}", (2.0, 1.8, 2.2), MISS),
        (f"same = {PAIR}", (1.2, 0.9, 1.5), OPEN),
        (f"same = {PAIR}\nwithin = 1.6", (1.2, 0.9, 1.5), HIT),
        (f"ratio = {PAIR}\nat_least = 2\nat_most = 5", (3.0, 2.5, 3.5), HIT),
        (f"ratio = {PAIR}\nat_least = 2\nat_most = 5", (9.0, 8.0, 9.5), MISS),
        (f"ratio = {PAIR}\nat_most = 0.5", (0.45, 0.4, 0.6), OPEN),
    ],
)
def test_a_statement_about_two_lines(rule: str, ratio: tuple[float, ...], outcome: str) -> None:
    assert judged(rule, *ratio).outcome == outcome


@pytest.mark.parametrize(
    ("rule", "ratio", "outcome"),
    [
        ('grows = ["BA"]\nby = 1.5', (1.9, 1.7, 2.1), HIT),
        ('grows = ["BA"]\nby = 1.5', (1.0, 0.9, 1.1), MISS),
        ('grows = ["BA"]', (1.1, 0.9, 1.3), OPEN),
        ('falls = ["BA"]', (0.5, 0.4, 0.6), HIT),
        ('falls = ["BA"]', (1.5, 1.4, 1.6), MISS),
        ('flat = ["BA"]', (1.0, 0.95, 1.1), HIT),
        ('flat = ["BA"]', (2.0, 1.9, 2.1), MISS),
    ],
)
def test_a_statement_about_one_line(rule: str, ratio: tuple[float, ...], outcome: str) -> None:
    found = judged(rule, *ratio, lines="BA to BA")
    assert (found.outcome, "4 to 1 threads" in found.why) == (outcome, True)
    since = judged(f'{rule}\nsince = "2"', *ratio, lines="BA to BA")
    assert (since.outcome, "4 to 2 threads" in since.why) == (outcome, True)


def test_where_a_statement_looks() -> None:
    """At the last place that fits the machine, at the first, at those named: never at one with too many threads."""
    rule = f"better = {PAIR}\n"
    assert "with 4 threads" in judged(rule, 1.5, 1.3, 1.7).why
    assert "with 1 thread" in judged(rule + 'at = "fewest"', 1.5, 1.3, 1.7, x=0).why
    assert judged(rule + 'at = ["2"]', 1.5, 1.3, 1.7, x=1).outcome == HIT
    beyond = judged(rule + 'at = ["8"]', 1.5, 1.3, 1.7, x=3)
    assert (beyond.outcome, "processors" in beyond.why) == (OPEN, True)


def test_what_cannot_be_told_says_why() -> None:
    rule = f"better = {PAIR}\n"
    assert judged(rule, 1.5, 1.3, 1.7, rounds=3).why.endswith("3 rounds, where 6 are needed")
    few = judged(rule + "needs = 16", 1.5, 1.3, 1.7)
    assert (few.outcome, few.why) == (OPEN, "It needs at least 16 processors, and the machine has 4 processors")
    assert judged(rule).why == "BA to stock with 4 threads: crashed: it died"


def test_one_miss_outweighs_what_is_open_and_what_hits() -> None:
    text = FIGURE.format(name="test-1", more="", rule='at = "all"')
    ratios = {("BA to stock", 0): (1.5, 1.3, 1.7), ("BA to stock", 1): (0.5, 0.4, 0.6), ("BA to stock", 2): (1, 0.5, 2)}
    (found,) = judge.judge(MadeUp(parse(text), ratios))
    assert found.outcome == MISS and found.why.startswith("BA to stock with 2 threads: 0.500×") and ";" not in found.why


# --- from the rows of a campaign


def write_campaign(path: Path, text: str, factor: float) -> None:
    """7 rounds of the figure, in which BA does `factor` times as much as stock."""
    import tomllib

    data = tomllib.loads(text)
    folder, dice = Folder(path), random.Random(1)
    folder.create()
    metric = [{"name": name, "role": name, "unit": f"{name}/s", "better": "higher"} for name in ("reads", "writes")]
    workload = {
        "name": "test-1", "title": "", "source": "", "measures": "", "note": "", "command": ["rw"], "params": {},
        "threads": [1, 2, 4], "threads_label": "threads", "seconds": 1, "fixed_work": False, "own": False,
        "locks": [NONE, "pthread", "ba"], "metric": metric,
    }  # fmt: skip
    folder.write_campaign(
        {
            "name": "made up", "started": "2026-01-02T03:04:05+00:00", "command_line": "lockswap paper test-1",
            "finished": True, "locks": [NONE, "pthread", "ba"], "repeats": 7, "seed": 1, "notes": [], "hints": [],
            "request": {}, "workload": [workload], "figure": {"file": data, "xs": [], "processors": 2},
        }
    )  # fmt: skip
    raw, run = RawWriter(folder, ["reads", "writes"]), 0
    for number in range(1, 8):
        drift = dice.uniform(0.5, 1)
        for threads in (1, 2, 4):
            for lock, twin in ((NONE, 0), (NONE, 1), ("pthread", 0), ("ba", 0)):
                run += 1
                value = 1000 * drift * (factor if lock == "ba" else 1) * dice.uniform(0.99, 1.01)
                row = Row(run, number, "test-1", lock, threads, "ok", second_run=twin)
                row.numbers = {"wall_s": 1.0, "cpu_s": 0.5 * threads}
                row.metrics = {"reads": value, "writes": value / 10}
                raw.add(row)
    raw.close()


@pytest.mark.parametrize(("factor", "outcome"), [(1.3, HIT), (0.7, MISS), (1.0, MISS)])
def test_a_campaign_is_judged_round_by_round(tmp_path: Path, factor: float, outcome: str) -> None:
    """Drift of a half between rounds hides nothing, and sums are of reads and writes."""
    write_campaign(tmp_path / "c", FIGURE.format(name="test-1", more="", rule=""), factor)
    measured = paper_page.measured_of(loading.load(Folder(tmp_path / "c")))
    assert measured is not None and measured.axis == Axis(("1", "2", "4"), 2)
    (found,) = judge.judge(measured)
    assert (found.outcome, "with 2 threads" in found.why) == (outcome, True)
    spread = measured.spread(Point(measured.figure.panels[0], measured.figure.line("BA"), 0), measured.figure.ys[0])
    assert spread is not None and math.isclose(spread.median, 1100 * factor * 0.75, rel_tol=0.35)
    tables = paper_page.tables(measured)
    assert [table.title for table in tables] == [
        "operations", "operations, per CPU-second", "writes", "writes, per CPU-second",
    ]  # fmt: skip
    assert all(spread for table in tables for _, spreads in table.rows for spread in spreads)


def test_an_axis_may_be_of_some_panels_alone(tmp_path: Path) -> None:
    """Where nothing is written, only the operations are drawn."""
    panels = "".join(f'[[panel]]\nkey = "{key}"\ntitle = "{title}"\n' for key, title in (("a", "reads"), ("b", "both")))
    text = FIGURE.replace('name   = "writes"', 'name   = "writes"\npanels = ["b"]').format(
        name="test-1", more=panels, rule=""
    )
    write_campaign(tmp_path / "c", text, 2.0)
    measured = paper_page.measured_of(loading.load(Folder(tmp_path / "c")))
    assert [table.title for table in paper_page.tables(measured) if "CPU" not in table.title] == [
        "(a) reads: operations", "(b) both: operations", "(b) both: writes",
    ]  # fmt: skip
    drawn = paper_plots.of(measured, paper_page.styles_of(measured, ["pthread", "ba"]))
    assert [len(plot.panels) for plot in drawn] == [4, 2]
    with pytest.raises(UserError, match=re.escape("y.panels: no such name 'b'")):
        parse(text.replace('key = "b"', 'key = "c"'))


MIXED = {"range-3", "range-4", "rlu-4", "rlu-5", "rlu-8", "rlu-9", "rlu-12", "bravo-4", "bravo-5", "bravo-6", "bravo-7"}


@pytest.mark.parametrize("name", sorted(MIXED))
def test_reads_and_writes_are_apart_as_well(name: str) -> None:
    """The total is the first axis; reads, writes and erases follow."""
    first, *others = (y.name for y in FIGURES[name].ys)
    assert first in ("operations", "throughput")
    assert {"reads", "searches", "lookups", "gets"} & set(others)
    assert {"writes", "updates", "inserts", "puts"} & set(others)


def test_lines_may_be_relative_to_another_one(tmp_path: Path) -> None:
    text = FIGURE.replace('metrics = ["reads", "writes"]', 'metrics = ["reads"]\nover = "stock"')
    write_campaign(tmp_path / "c", text.format(name="test-1", more="", rule=""), 2.0)
    measured = paper_page.measured_of(loading.load(Folder(tmp_path / "c")))
    panel, y = measured.figure.panels[0], measured.figure.ys[0]
    assert math.isclose(measured.spread(Point(panel, measured.figure.line("BA"), 1), y).median, 2, rel_tol=0.05)
    assert measured.spread(Point(panel, measured.figure.line("stock"), 1), y).median == 1


# --- the commands


@pytest.fixture
def of_paper(repo, recipe):
    recipe("rw")
    folder = repo / "apps/recipes/papers"
    folder.mkdir()
    (folder / "test-1.toml").write_text(FIGURE.format(name="test-1", more="", rule=""))
    kept_out = 'schema = 1\nname = "test-2"\npaper = "A paper"\nnumber = "figure 2"\ntitle = "Not here"\n'
    (folder / "test-2.toml").write_text(kept_out + 'missing = "it is the kernel\'s alone"\n')
    return repo


def test_a_figure_from_the_command_to_its_page(of_paper, lockswap) -> None:
    out = of_paper / "results/f"
    done = lockswap("paper", "test-1", "--quick", "--threads", "1,2", "--repeats", "2", "--out", out)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "Readers of one lock (figure 1 of A paper)"
    assert re.fullmatch(r"  can't tell here +BA does more than stock\.", lines[1])
    assert "1 statement of the paper: 1 can't be told here" in lines
    page = (out / "report.html").read_text()
    assert page.count("<svg role=") == 4 and "BA does more than stock." in page
    assert {file.name for file in (out / "plots").iterdir()} == {
        f"test-1-{name}.{kind}" for name in ("operations", "writes") for kind in ("svg", "png")
    }
    assert json.loads((out / "summary.json").read_text())["workloads"][0]["name"] == "test-1"
    assert "is finished" in one_line_error(lockswap.inside("compare", "--resume", out))

    # What an interrupt leaves: --resume makes the runs that are missing, and the page once more.
    made = Folder(out).rows()
    (out / "raw.csv").write_text("".join((out / "raw.csv").read_text().splitlines(keepends=True)[:-2]))
    about = (out / "campaign.toml").read_text()
    (out / "campaign.toml").write_text(about.replace("finished = true", "finished = false"))
    again = lockswap("paper", "--resume", out)
    assert (again.returncode, again.stdout.splitlines()[0]) == (0, lines[0]), again.stderr
    rows = Folder(out).rows()
    assert sorted((row.round, row.threads, row.lock, row.second_run) for row in rows) == sorted(
        (row.round, row.threads, row.lock, row.second_run) for row in made
    )


def test_what_can_be_had_is_listed(of_paper, lockswap) -> None:
    shown = lockswap.inside("list", "papers").stdout
    assert re.search(r"test-1 +A paper +figure 1 +Readers of one lock", shown)
    assert re.search(r"test-2 +A paper +figure 2 +Not here: can't be measured, because it is the kernel's alone", shown)
    assert "1 of 2 figures and tables" in shown
    assert "stock, BA" in lockswap.inside("list", "test-1").stdout


def test_what_cannot_be_had_is_refused(of_paper, lockswap) -> None:
    assert "it is the kernel's alone" in one_line_error(lockswap.inside("paper", "test-2"))
    assert "did you mean 'test-1'" in one_line_error(lockswap.inside("paper", "test-11"))
    assert "name a figure" in one_line_error(lockswap.inside("paper"))
    assert "drop --quick" in one_line_error(lockswap.inside("paper", "--quick", "--resume", of_paper))


# --- each figure, tiny


@pytest.mark.full
@pytest.mark.parametrize("figure", MEASURED, ids=lambda figure: figure.name)
def test_each_figure_is_measured(figure: Figure, tmp_path: Path) -> None:
    """One short run of each point: every line has a value. The programs are built or fetched, as a user's would be."""
    import subprocess

    threads = max(2, figure.least_threads)
    command = [ROOT / "build/bin/lockswap", "paper", figure.name, "--quick", "--repeats", "1", "--seconds", "1"]
    done = subprocess.run(
        [*command, "--threads", str(threads), "--out", tmp_path / "out"], capture_output=True, text=True
    )
    rows = Folder(tmp_path / "out").rows()
    lacking = {row.detail for row in rows if row.status == "skipped"}
    if lacking and all("needs" in detail for detail in lacking):
        pytest.skip(f"skipped: {lacking.pop()}")
    assert done.returncode == 0, done.stderr
    assert {row.status for row in rows} == {"ok"}, {(row.workload, row.lock, row.detail) for row in rows}
    measured = paper_page.measured_of(loading.load(Folder(tmp_path / "out")))
    for table in paper_page.tables(measured):
        assert all(spread for _, spreads in table.rows for spread in spreads), table.title
