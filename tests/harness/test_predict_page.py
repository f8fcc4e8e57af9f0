"""The page of predictions: it says that all is modelled, its lines are dashed, its tables have each rule and point."""

import csv
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.cli import cli
from lockswap.predict import bands, model, page, places, statements

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "alternator"


def _points(_: Path, asked: model.Question) -> list[bands.Point]:
    """Locks in the order of the question, each half as fast as the one before."""
    return [
        bands.Point(subject, threads, tuple(1e6 / 2**n * draw for draw in (0.9, 1, 1.1)), 2)
        for n, subject in enumerate(asked.subjects)
        for threads in asked.threads
    ]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    whole = statements.read(ROOT / "predict/statements.toml")
    mine = tuple(one for one in whole.statements if one.question == QUESTION)
    small = statements.Book(whole.papers, {QUESTION: whole.questions[QUESTION]}, mine)
    monkeypatch.setattr(page.statements, "read", lambda _: small)
    monkeypatch.setattr(page.model, "ask", _points)
    monkeypatch.setattr(places, "program", lambda _: Path("/nowhere"))
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
