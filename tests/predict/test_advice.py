"""On how many processors a lock begins to pay, by the model, and that the command says so."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from lockswap.base.paths import Paths
from lockswap.base.registry import Lock, Registry
from lockswap.predict import advice, advice_maker, bands

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "predict/advice.csv"


def _points(lock: str, rates: dict[int, float]) -> list[bands.Point]:
    return [
        bands.Point(bands.Subject(lock, "rwlock"), threads, tuple(rate * draw for draw in (1, 5, 20)), 0)
        for threads, rate in rates.items()
    ]


@pytest.mark.parametrize(
    ("rates", "first"),
    [
        ({2: 5, 8: 30, 72: 99}, 8),
        ({2: 30, 8: 11, 72: 99}, 72),  # what comes before a number without a claim doesn't count
        ({2: 30, 8: 30, 72: 11}, None),
        ({2: 30, 8: 30, 72: 30}, 2),
    ],
)
def test_from_where_on(rates, first):
    points = [*_points("b", rates), *_points("a", {2: 10, 8: 10, 72: 10})]
    assert advice_maker.first_of_all("b", points, "a") == first


def test_list_says_that_it_is_modelled():
    one = advice.read(FILE)[0]
    words = [sys.executable, "-m", "lockswap", "list", one.lock]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert "modelled" in said
    assert f"on {one.machine}" in " ".join(said.split())


def test_every_lock_that_is_compared_has_advice():
    """Only the plainest ones, and names of the same code, have nothing to be compared with."""
    registry = Registry.load(Paths.find())
    found = {(one.kind, one.lock) for one in advice.read(FILE)}
    for kind, locks in (("rwlock", registry.rwlocks), ("mutex", registry.mutexes)):
        than = advice_maker.PLAINEST[kind]
        wanted = [lock for lock in locks if lock.compared_by_default and than not in (lock.name, lock.same_code_as)]
        assert {(kind, lock.name) for lock in wanted} <= found


def test_the_page_of_locks_has_the_same_as_tables():
    page = (ROOT / "docs/locks.md").read_text(encoding="utf-8")
    for table in advice.tables(advice.read(FILE)):
        assert f"\n\n{table}\n\n" in page, "print them: python -m lockswap.predict.advice_maker tables"


def test_what_has_the_same_code_has_the_same_advice():
    locks = [
        Lock("plain"),
        Lock("other", same_code_as="plain"),
        Lock("best", chosen="over-plain"),
        Lock("over-plain", compared_by_default=False),
        Lock("over-other"),
        Lock("gone"),
    ]
    known = ["plain", "over-plain", "over-other"]
    assert advice_maker.modelled(locks, known) == {"plain": "plain", "other": "plain", "best": "over-plain"}
    compared = [*locks[:2], replace(locks[2], compared_by_default=True), *locks[3:]]
    assert advice_maker.modelled(compared, known) == {
        "plain": "plain",
        "other": "plain",
        "best": "over-plain",
        "over-plain": "over-plain",
    }


def test_a_table_has_a_line_for_each_lock():
    found = [
        advice.Advice("rwlock", "a", "x", "m", "w", 0.0001, 8),
        advice.Advice("rwlock", "a", "x", "m", "w", 0.01, None),
        advice.Advice("mutex", "b", "y", "m", "w", 1, 2),
    ]
    assert advice.tables(found) == [
        "| modeled: faster than `x` | 0.01% writes | 1% writes |\n| --- | ---: | ---: |\n| `a` | 8 | – |",
        "| modeled: faster than `y` | 100% writes |\n| --- | ---: |\n| `b` | 2 |",
    ]


def test_without_the_file_nothing_is_said(tmp_path):
    assert advice.read(tmp_path / "advice.csv") == []
    assert advice.of([], "rwlock", "x") == ""
