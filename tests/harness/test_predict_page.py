"""The page of predictions: it says that all is modelled, its lines are dashed, its tables have each rule and point."""

import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.cli import cli
from lockswap.predict import answers, bands, machines, model, page, places, runs, statements, workloads

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "alternator"


def _runs(_: Path, asked: model.Question) -> list[runs.Run]:
    """Locks in the order of the question, each half as fast as the one before, and all 1 % faster from draw to draw."""
    return [
        runs.Run(
            subject,
            threads,
            tuple(
                {"reads": 1e6 / 2**n * 1.01**draw, "writes": 0, "ns": 1e9, "node": 2, "remote": 0, "memory": 0}
                for draw in range(asked.first_draw, asked.first_draw + asked.draws)
            ),
        )
        for n, subject in enumerate(asked.subjects)
        for threads in asked.threads
    ]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    whole = statements.read(ROOT / "predict/statements.toml")
    mine = tuple(one for one in whole.statements if one.question == QUESTION)
    small = statements.Book(whole.papers, {QUESTION: whole.questions[QUESTION]}, mine)
    monkeypatch.setattr(page.statements, "read", lambda _: small)
    monkeypatch.setattr(page.model, "run", _runs)
    monkeypatch.setattr(places, "program", lambda _: Path(__file__))
    page.write(Paths.find(), tmp_path / "out", 3)
    return tmp_path / "out", small


def test_nothing_on_it_looks_measured(folder):
    out, book = folder
    text = (out / "predicted.html").read_text(encoding="utf-8")
    assert "Everything here is <b>modelled</b>" in text
    for svg in [
        (out / "plots" / f"modelled-{QUESTION}.svg").read_text(encoding="utf-8"),
        *re.findall("<svg .*?</svg>", text, re.S),
    ]:
        if "Modelled: " not in svg:
            continue  # a lock's mark in the legend
        assert svg.count("stroke-dasharray") >= len(book.questions[QUESTION].rwlocks)
    assert text.count("Modelled: ") >= 2
    # All locks of the stand-in do the same with any number of threads.
    assert text.count("Throughput bends between 1 and 2 threads") == 1
    assert "Fitted constants: " in text and "which of two locks is faster for 100" in text
    for one in book.statements:
        assert one.says in text


def test_its_tables_have_each_rule_and_each_point(folder):
    out, book = folder
    with (out / "statements.csv").open(encoding="utf-8", newline="") as lines:
        found = list(csv.DictReader(lines))
    assert [row["rule"] for row in found] == [rule.text for one in book.statements for rule in one.rules]
    assert {row["holds"] for row in found} == {"yes", "no"}
    with (out / "points.csv").open(encoding="utf-8", newline="") as lines:
        points = list(csv.DictReader(lines))
    asked = book.questions[QUESTION]
    assert len(points) == len(asked.rwlocks) * len(asked.threads)
    assert float(points[0]["low"]) < float(points[0]["per_second"]) < float(points[0]["high"])


def test_it_takes_no_lock_and_no_machine(tmp_path):
    done = CliRunner().invoke(cli, ["predict", "--page", str(tmp_path), "--machine", "x5-2"])
    assert isinstance(done.exception, UserError)
    assert "--machine has no effect with --page: drop it" in str(done.exception)


def _asking(folder: Path) -> tuple[answers.Answers, runs.Question, list[tuple[int, int]]]:
    """A question of nine draws, and a list of the draws that the model is asked for."""
    asked_for: list[tuple[int, int]] = []

    def run(asked: model.Question) -> list[runs.Run]:
        asked_for.append((asked.first_draw, asked.draws))
        return _runs(folder, asked)

    machine = machines.find(ROOT / "predict/machines", "x5-2")
    workload = workloads.find(ROOT / "predict/workloads.toml", "rwbench")
    question = runs.Question(machine, workload, 0.1, (bands.Subject("ba", "rwlock"),), (2,), 9, 1e6)
    return answers.Answers(folder, Path(__file__), run), question, asked_for


@pytest.mark.parametrize(("settled", "draws"), [(True, [(0, 6)]), (False, [(0, 6), (6, 3)])])
def test_more_draws_are_made_only_where_the_first_ones_disagree(tmp_path, settled, draws):
    asking, question, asked_for = _asking(tmp_path)
    (point,) = asking.points("q", question, lambda _: settled)
    assert asked_for == draws
    assert point.rates == tuple(pytest.approx(1e6 * 1.01**n) for n in range(sum(made for _, made in draws)))


def test_answers_are_kept_and_only_for_the_same_question(tmp_path):
    asking, question, asked_for = _asking(tmp_path)
    said = [asking.points("q", question, lambda _: False) for _ in range(2)]
    assert said[0] == said[1]
    assert len(asked_for) == 2
    (tmp_path / "q-0.json").write_text('{"asked": "cut o', encoding="utf-8")
    assert asking.points("q", question, lambda _: True)[0].rates == said[0][0].rates[:6]
    assert len(asked_for) == 3
    asking.points("q", replace(question, virtual_ns=2e6), lambda _: True)
    assert len(asked_for) == 4
