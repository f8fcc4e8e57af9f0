"""The statements of papers: their form, how they are judged, and that the page of results says what came out."""

import csv
import re
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest

from lockswap.base.errors import UserError
from lockswap.predict import bands, machines, statements, workloads

ROOT = Path(__file__).resolve().parents[2]
BOOK = statements.read(ROOT / "predict/statements.toml")
ANEW = statements.read(ROOT / "predict/statements_2.toml")


def _point(lock: str, threads: int, *rates: float) -> bands.Point:
    return bands.Point(bands.Subject(lock, "rwlock"), threads, rates, 0)


def _statement(*rules: str) -> statements.Statement:
    return statements.Statement("s", "p", "1", "", "q", tuple(map(statements.Rule.of, rules)))


@pytest.mark.parametrize("book", [BOOK, ANEW])
def test_every_statement_can_be_asked(book):
    names = [one.name for one in book.statements]
    assert len(names) == len(set(names))
    assert {one.question for one in book.statements} == set(book.questions)
    for asked in book.questions.values():
        machine = machines.find(ROOT / "predict/machines", asked.machine)
        replace(workloads.find(ROOT / "predict/workloads.toml", asked.workload), **asked.changes)
        assert max(asked.threads) <= machine.processors
    for one in book.statements:
        asked = book.questions[one.question]
        there = {(str(subject), threads) for subject in asked.subjects for threads in asked.threads}
        assert {where for rule in one.rules for where in (rule.top, rule.bottom)} <= there, one.name


def test_statements_that_are_asked_again_are_known_to_be_seen():
    assert [replace(one, seen=False) for one in ANEW.statements if one.seen] == list(BOOK.statements)
    longer = {name for name, asked in BOOK.questions.items() if ANEW.questions[name] != asked}
    assert longer
    for name in longer:
        before, now = BOOK.questions[name], ANEW.questions[name]
        assert now == replace(before, virtual_ms=now.virtual_ms)
        assert now.virtual_ms > before.virtual_ms


def test_a_rule_is_judged_draw_by_draw_and_by_the_median():
    # The draws differ by ten times, and the two locks by 1.5 in each.
    points = [_point("a", 8, 15, 150, 75), _point("b", 8, 10, 100, 50), _point("b", 2, 40, 100, 50)]
    above, below, torn = statements.judge(
        _statement("a@8 / b@8 >= 1.1", "a@8 / b@8 <= 1.4", "b@8 / b@2 <= 0.9"), points
    )
    assert (above.holds, above.agree, above.ratio.middle) == (True, 1, pytest.approx(1.5))
    assert (below.holds, below.agree) == (False, 0)
    assert (torn.holds, torn.agree) == (False, pytest.approx(1 / 3))


@pytest.mark.parametrize("text", ["a@8 > b@8", "a@8 / b@8 >= x", "a / b >= 1", "a@8 / b@8 == 1"])
def test_what_is_no_rule(text):
    with pytest.raises(UserError, match="is not a rule"):
        statements.Rule.of(text)


def test_a_point_that_was_not_asked_is_an_error():
    with pytest.raises(UserError, match="its question has no b@8"):
        statements.judge(_statement("a@8 / b@8 >= 1"), [_point("a", 8, 1, 2)])


def test_the_page_says_what_came_out_and_explains_each_miss():
    with (ROOT / "results/predictions/2026-11-29-statements.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    said = {
        name: [(row["rule"], row["holds"]) for row in mine]
        for name, mine in groupby(rows, lambda row: row["statement"])
    }
    # The rules are still those that were predicted, and each is judged by its own ratio.
    assert {one.name: [rule.text for rule in one.rules] for one in BOOK.statements} == {
        name: [rule for rule, _ in mine] for name, mine in said.items()
    }
    for row in rows:
        assert statements.Rule.of(row["rule"]).holds(float(row["ratio"])) == (row["holds"] == "yes"), row
    agree = {name for name, mine in said.items() if all(holds == "yes" for _, holds in mine)}
    page = (ROOT / "results/predictions/2026-11-29-statements.md").read_text(encoding="utf-8")
    assert f"    {len(said)} statements: {len(agree)} agree\n" in page
    explained = {
        name for line in page.splitlines() if line.startswith("- ") for name in re.findall(r"\*\*(.+?)\*\*", line)
    }
    assert explained == said.keys() - agree
