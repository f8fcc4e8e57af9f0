"""A paper's figure on a machine that isn't here: its page says that all is modelled, and what is missing."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.cli import cli
from lockswap.figures import reader
from lockswap.figures.figure import Line, Panel
from lockswap.predict import asking, figure_models, figure_page, model, places, workloads
from lockswap.predict.bands import OWN_TABLE, Subject

PATHS = Paths.find()
BOOK = figure_models.Book.read(places.figures(PATHS))
KNOWN = {
    "rwlock": ["ba", "bravo-ba", "per-cpu", "cohort"],
    OWN_TABLE: ["bravo-ba"],
    "range": ["list-rw", "list-ex"],
    "design": ["rwlock", "pure-rcu"],
    "set": ["rlu", "rlu-deferred"],
}


@pytest.fixture
def asked(monkeypatch):
    """The questions. Each lock is answered by half the rate of the one before; draws differ by 2 %."""
    questions: list[model.Question] = []

    def run(_: Path, question: model.Question) -> list[model.Run]:
        questions.append(question)
        return [
            model.Run(
                subject,
                threads,
                tuple({"reads": 1000 / 2**place * (1 + n / 100), "writes": 0, "ns": 1e6, "node": 0, "remote": 0,
                       "memory": 0} for n in range(-1, question.draws - 1)),
            )
            for place, subject in enumerate(question.subjects)
            for threads in question.threads
        ]  # fmt: skip

    monkeypatch.setattr(figure_page.model, "run", run)
    monkeypatch.setattr(figure_page.model, "known_locks", lambda _: KNOWN)
    monkeypatch.setattr(places, "program", lambda _: Path("/nowhere"))
    monkeypatch.setattr(places, "structures", lambda _: Path("/nowhere"))
    return questions


@pytest.fixture
def undrawn(monkeypatch):
    """What a figure says, without its plots, which take longer. Others of the same lines are drawn."""
    monkeypatch.setattr(figure_page.drawing, "cure", lambda _: "a test")


def _run(figure: str, out: Path, machine: str = "x5-2", draws: int = 6, threads: tuple[int, ...] = ()) -> str:
    figure_page.run(PATHS, figure_page.Request(figure, machine, threads, draws, out))
    return (out / "modelled.html").read_text(encoding="utf-8")


def test_every_entry_is_of_a_workload_of_figures_and_of_the_model():
    figures = reader.load_all(PATHS).values()
    for entry in BOOK.entries:
        mine = [panel for figure in figures for panel in figure.panels if BOOK.entry(panel) is entry]
        assert mine, f"no figure measures {entry.measured} with {entry.when}"
        for panel in mine:
            at = next(f for f in figures if panel in f.panels)
            known = figure_models.parameters(panel, at.xs[0] if at.xs else None)
            assert set(entry.takes.values()) <= known.keys() or entry.parameter, (entry.measured, known)
        assert workloads.find(places.workloads(PATHS), entry.workload)


def test_nothing_of_it_looks_measured(asked, tmp_path, capsys):
    text = _run("bravo-5", tmp_path)
    assert "Everything here is <b>modelled</b>" in text
    assert capsys.readouterr().out.startswith("Modelled, not measured: ")
    drawn = [svg for svg in re.findall("<svg .*?</svg>", text, re.S) if "Modelled: " in svg]
    assert len(drawn) == 6 * 3  # panels by y axes: operations, reads, writes
    assert all(svg.count("stroke-dasharray") >= 4 for svg in drawn)
    assert "The model has no pthread and BRAVO-pthread." in text
    for one in reader.find(PATHS, "bravo-5").says:
        assert one.text in text
    # The axis goes up to the machine's processors, and each panel has its share of writes.
    assert {max(q.threads) for q in asked} == {72}
    assert [q.writes for q in asked] == [0.9, 0.5, 0.1, 0.01, 0.001, 0.0001]


def test_a_statement_is_judged_by_the_whole_band(asked, undrawn, tmp_path, capsys):
    _run("bravo-5", tmp_path)
    out = capsys.readouterr().out.splitlines()
    # bravo-ba is half of ba in each draw; that a line doesn't change with the threads is right everywhere.
    where = next(n for n, line in enumerate(out) if "begins to be above BA" in line)
    assert out[where].strip().startswith("the model disagrees")
    assert "0.5" in out[where + 1]
    assert any("can't tell" in line for line in out)


def test_an_axis_of_other_values_than_threads(asked, tmp_path):
    text = _run("bravo-2", tmp_path)
    assert [q.workload.locks for q in asked] == [1, 4, 16, 64, 256]
    assert {q.threads for q in asked} == {(64,)}
    assert all(q.subjects == (Subject("bravo-ba", "rwlock"), Subject("bravo-ba", OWN_TABLE)) for q in asked)
    assert "1024 and 8192 would need too much virtual time" in text


def test_threads_beside_those_of_the_axis(asked, undrawn, tmp_path):
    _run("bravo-4", tmp_path, threads=(1, 71))
    assert {q.threads for q in asked} == {(2, 72)}
    with pytest.raises(UserError, match="--threads 72: the model needs a processor for each thread"):
        _run("bravo-4", tmp_path, threads=(72,))


def test_another_lock_stands_for_one_that_has_no_model(asked, tmp_path):
    text = _run("bravo-9", tmp_path, machine="x5-4")
    assert text.count("BA stands for") == 1
    assert {str(s) for q in asked for s in q.subjects} == {"ba", "bravo-ba"}


def test_lines_that_are_range_locks(asked, tmp_path):
    text = _run("range-3", tmp_path)
    assert {q.workload.ranges for q in asked} == {"full", "disjoint", "random"}
    assert [round(q.writes, 6) for q in asked] == [0, 0.4] * 3
    assert asked[0].subjects == (Subject("list-rw", "range"), Subject("list-ex", "range"))
    assert "The model has no kernel-rw, lustre-ex, pnova-rw and pnova-rw, 32 segments." in text
    assert "stand for the paper" in text


def test_lines_that_are_designs(asked, undrawn, tmp_path):
    _run("bonsai-18", tmp_path, machine="e7-8870")
    assert [q.workload.mapping for q in asked] == [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1]
    assert asked[0].subjects == (Subject("rwlock", "design"), Subject("pure-rcu", "design"))


def test_lines_that_are_sets(asked, tmp_path):
    text = _run("rlu-5", tmp_path, machine="e5-2660")
    assert [(q.workload.items, q.workload.buckets, q.writes) for q in asked] == [
        (10000, 10000, w) for w in (0.02, 0.2, 0.4)
    ]
    assert asked[0].subjects == (Subject("rlu", "set"), Subject("rlu-deferred", "set"))
    assert "The model has no Harris leaky, Harris HP and RCU." in text


def test_a_cost_is_the_time_of_those_threads_that_have_it(asked, tmp_path):
    text = _run("bonsai-17", tmp_path, machine="e7-8870", threads=(11,))
    # The draws' median is 1,015 reads of ten threads in a millisecond; the other design has half of them.
    assert re.findall(r">([0-9.]+k) ns ", text) == ["9.85k", "19.7k"]


def test_lines_are_what_the_figure_says_of_them():
    entry = figure_models.Entry("m", "w", takes={"reads": "share"})
    assert entry.subject(Line("a", lock="range:list-rw")) == Subject("list-rw", "range")
    assert entry.subject(Line("a", lock="ba")) == Subject("ba", "rwlock")
    known = {"w": workloads.Workload("w", "")}
    assert asking.Model(list, {}, known).workload(entry, {"share": 0.6}) == (known["w"], pytest.approx(0.4))
    assert BOOK.entry(Panel("", "", "locktorture", {"writers": 1, "hold": 0.05})) is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bravo-6", "--machine", "x5-2"), "bravo-2, bravo-3, bravo-4, bravo-5"),
        (("bravo-5", "--machine", "x5-2", "--quick"), "--quick has no effect with --machine"),
        (("bravo-5", "--draws", "8"), "--draws has no effect without --machine"),
        (("bravo-5", "--machine", "x6"), "x6"),
    ],
)
def test_what_is_refused(words, said):
    done = CliRunner().invoke(cli, ["paper", *words])
    assert isinstance(done.exception, UserError)
    assert said in str(done.exception)


def test_too_few_draws_say_nothing_about_a_band():
    done = CliRunner().invoke(cli, ["paper", "bravo-5", "--machine", "x5-2", "--draws", "5"])
    assert done.exit_code == 2
    assert "5 is not in the range x>=6" in done.output
