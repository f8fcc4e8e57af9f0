"""On how many processors a lock begins to pay, by the model, and that the command says so."""

import subprocess
import sys
from pathlib import Path

import pytest

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


def test_without_the_file_nothing_is_said(tmp_path):
    assert advice.read(tmp_path / "advice.csv") == []
    assert advice.of([], "rwlock", "x") == ""
