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
MAPS = statements.read(ROOT / "predict/statements_3.toml")
SETS = statements.read(ROOT / "predict/statements_4.toml")


def _point(lock: str, threads: int, *rates: float) -> bands.Point:
    return bands.Point(bands.Subject(lock, "rwlock"), threads, rates, 0)


def _statement(*rules: str) -> statements.Statement:
    return statements.Statement("s", "p", "1", "", "q", tuple(map(statements.Rule.of, rules)))


@pytest.mark.parametrize("book", [BOOK, ANEW, MAPS, SETS])
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


def _came_out(name: str) -> dict[str, list[dict[str, str]]]:
    """By statement, the rows of its rules; each rule is judged by its own ratio."""
    with (ROOT / f"results/predictions/{name}.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    for row in rows:
        assert statements.Rule.of(row["rule"]).holds(float(row["ratio"])) == (row["holds"] == "yes"), row
    return {name: list(mine) for name, mine in groupby(rows, lambda row: row["statement"])}


def _agree(said: dict[str, list[dict[str, str]]]) -> set[str]:
    return {name for name, mine in said.items() if all(row["holds"] == "yes" for row in mine)}


def _page(name: str) -> tuple[str, set[str]]:
    """The page, and the statements that it explains."""
    page = (ROOT / f"results/predictions/{name}.md").read_text(encoding="utf-8")
    listed = (line for line in page.splitlines() if line.startswith("- "))
    return page, {name for line in listed for name in re.findall(r"\*\*(.+?)\*\*", line)}


@pytest.mark.parametrize(("name", "book"), [("2026-11-29-statements", BOOK), ("2026-11-29-rlu", SETS)])
def test_a_page_says_what_came_out_and_explains_each_miss(name, book):
    said = _came_out(name)
    # The rules are still those that were predicted.
    assert {one.name: [rule.text for rule in one.rules] for one in book.statements} == {
        one: [row["rule"] for row in mine] for one, mine in said.items()
    }
    page, explained = _page(name)
    assert f"    {len(said)} statements: {len(_agree(said))} agree\n" in page
    assert explained == said.keys() - _agree(said)


def test_the_second_page_says_what_came_out_and_explains_each_new_miss():
    said = _came_out("2026-11-29-statements-2")
    rules = {one.name: [rule.text for rule in one.rules] for one in ANEW.statements}
    assert {name: [row["rule"] for row in mine] for name, mine in said.items()} == {name: rules[name] for name in said}
    seen = {one.name for one in ANEW.statements if one.seen}
    assert {name for name, mine in said.items() if mine[0]["seen_before"] == "yes"} == seen & said.keys()
    new = {name: mine for name, mine in said.items() if name not in seen}
    # All that were never compared before were asked.
    assert new.keys() == rules.keys() - seen
    page, explained = _page("2026-11-29-statements-2")
    assert f"    {len(new)} statements never compared before: {len(_agree(new))} agree\n" in page
    again = said.keys() & seen
    assert f"    {len(again)} seen before: {len(_agree(said) & seen)} agree\n" in page
    assert explained == new.keys() - _agree(new)


def test_the_third_page_has_the_rest_of_those_that_were_seen_before():
    said, second = (_came_out(f"2026-11-29-statements-{number}") for number in (3, 2))
    rules = {one.name: [rule.text for rule in one.rules] for one in ANEW.statements}
    assert {name: [row["rule"] for row in mine] for name, mine in said.items()} == {name: rules[name] for name in said}
    seen = {one.name for one in ANEW.statements if one.seen}
    assert said.keys() == seen - second.keys()
    page, explained = _page("2026-11-29-statements-3")
    assert f"    {len(said)} seen before: {len(_agree(said))} agree\n" in page
    both = _agree(said) | _agree(second) & seen
    assert f"the model agrees with {len(both)} of the {len(seen)} statements" in page
    assert explained == said.keys() - _agree(said)


def test_the_fourth_page_has_mixes_whose_threads_begin_in_the_middle():
    said, second = (_came_out(f"2026-11-29-statements-{number}") for number in (4, 2))
    rules = {one.name: [rule.text for rule in one.rules] for one in ANEW.statements}
    assert {name: [row["rule"] for row in mine] for name, mine in said.items()} == {name: rules[name] for name in said}
    assert said.keys() <= second.keys()
    page, explained = _page("2026-11-29-statements-4")
    agreed = len(_agree(second) & said.keys())
    assert f"    {len(said)} seen before: {len(_agree(said))} agree, where {agreed} did\n" in page
    assert explained == said.keys() - _agree(said)


def test_the_fifth_page_has_the_designs_of_the_bonsai_paper_again():
    said, fourth, second = (_came_out(f"2026-11-29-statements-{number}") for number in (5, 4, 2))
    rules = {one.name: [rule.text for rule in one.rules] for one in ANEW.statements if one.paper == "bonsai"}
    asked = {name: mine for name, mine in rules.items() if name.startswith("bonsai-")}
    assert {name: [row["rule"] for row in mine] for name, mine in said.items()} == asked
    page, explained = _page("2026-11-29-statements-5")
    agreed = len(_agree({**second, **fourth}) & said.keys())
    assert f"    {len(said)} seen before: {len(_agree(said))} agree, where {agreed} did\n" in page
    assert explained == said.keys() - _agree(said)


def test_the_sixth_page_says_what_came_out_of_deferred_updates():
    said = _came_out("2026-11-29-statements-6")
    rules = {one.name: [rule.text for rule in one.rules] for one in MAPS.statements if not one.seen}
    assert {name: [row["rule"] for row in mine] for name, mine in said.items()} == rules
    assert {row["seen_before"] for mine in said.values() for row in mine} == {"no"}
    page, explained = _page("2026-11-29-statements-6")
    assert f"    {len(said)} statements never compared before: {len(_agree(said))} agree\n" in page
    assert explained == said.keys() - _agree(said)
