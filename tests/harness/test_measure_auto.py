"""tools/measure_auto.py: the rows are sound, the verdicts right, and it runs."""

# ruff: noqa: E402 (tools/ is no package)

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from auto_rows import PINGPONG, ROWS, Asked
from measure_auto import verdict

from lockswap.base.choice import kinds_of
from lockswap.base.paths import Paths
from lockswap.base.registry import Registry
from lockswap.base.selection import parse
from lockswap.findings.stats import Ratio
from lockswap.recipes import reader

PLACES = [pytest.param(place, id=f"{name}-{place.workload}") for name, row in ROWS.items() for place in row.places]


@pytest.mark.parametrize("place", PLACES)
def test_what_is_asked_can_be_measured(place):
    recipe = (reader.load_all(Paths.find().recipes) | {PINGPONG.name: PINGPONG})[place.workload]
    there = {metric.name: metric for metric in recipe.metrics}
    registry = Registry.load(Paths.find())
    for lock, all_ in place.asked.items():
        assert parse(registry, lock.partition("@")[0]) and kinds_of([lock]) & set(recipe.takes) and all_
        for asked in all_:
            assert all(name in there for name in asked.metrics), asked
            assert (asked.least is None) != (asked.most is None)
            assert len({there[name].better for name in asked.metrics}) == 1


def ratio(low, estimate, high, n=11, noise=1.02):
    return Ratio(n, estimate, low, high, noise)


@pytest.mark.parametrize(
    "asked, found, expected",
    [
        (Asked(("x",), least=1.3), ratio(1.35, 1.4, 1.5), "reached"),
        (Asked(("x",), least=1.3), ratio(1.25, 1.4, 1.5), "open"),
        (Asked(("x",), least=1.3), ratio(1.1, 1.2, 1.25), "missed"),
        (Asked(("x",), least=1.3), ratio(1.35, 1.4, 1.5, n=5), "open"),
        (Asked(("x",), least=1.3), ratio(1.35, 1.4, 1.5, noise=1.6), "open"),
        (Asked(("x",), least=0.97, floor=True), ratio(0.9, 0.95, 0.98), "kept"),
        (Asked(("x",), least=0.97, floor=True), ratio(0.9, 0.93, 0.96), "shown below"),
        (Asked(("x",), least=0.97, floor=True), ratio(0.9, 0.93, 0.96, noise=1.2), "kept"),
        (Asked(("x",), least=0.97, floor=True), ratio(0.9, 0.93, 0.96, n=5), "open"),
        (Asked(("x",), least=0.97, floor=True), None, "open"),
    ],
)
def test_ratios(asked, found, expected):
    assert verdict(asked, found, None, "ops/s")[1] == expected


@pytest.mark.parametrize(
    "asked, interval, expected",
    [
        (Asked(("x",), most=40, itself=True), (20, 39), "reached"),
        (Asked(("x",), most=40, itself=True), (20, 41), "open"),
        (Asked(("x",), most=40, itself=True), (41, 50), "missed"),
        (Asked(("x",), least=500, itself=True), (501, 900), "reached"),
        (Asked(("x",), least=500, itself=True), (100, 499), "missed"),
        (Asked(("x",), least=500, itself=True), None, "open"),
    ],
)
def test_figures_in_their_own_unit(asked, interval, expected):
    target, state = verdict(asked, ratio(0.5, 1, 2), interval, "us")
    assert state == expected and target.endswith(" us")


def measure(*words):
    command = [sys.executable, str(ROOT / "tools/measure_auto.py"), *map(str, words)]
    env = os.environ | {"PYTHONPATH": str(ROOT / "harness")}
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=env)


def test_a_row_is_measured(tmp_path):
    ran = measure("--rounds", 1, "--seconds", 0.05, "--small", "--others", "ba", "--out", tmp_path, "rw2")
    assert ran.returncode == 0, ran.stderr
    about = json.loads((tmp_path / "auto.json").read_text())
    places = about["rows"]["rw2"]
    assert [place["workload"] for place in places] == ["pairs-1in2", "pairs-1in100"]
    for place in places:
        assert place["why"] == "" and set(place["runs"]) == {"none", "none again", *ROWS["rw2"].places[0].asked, "ba"}
        assert all(len(runs) == 1 for runs in place["runs"].values())
        assert all(found["median"] > 0 and found["state"] == "open" for found in place["found"])  # of one round
    text = (tmp_path / "auto.md").read_text()
    first = next(iter(ROWS["rw2"].places[0].asked))
    assert text.count(f"| pairs-1in2, 2 | {first} |") == 4 and text.strip() == ran.stdout.strip()
    assert json.loads((tmp_path / "env.json").read_text())["cpu"]["usable"] >= 1


def test_what_is_wrong_is_said(tmp_path):
    for words in (["nonsense"], ["--rounds", 0], ["--others", "nonsense"]):
        ran = measure("--out", tmp_path, *words)
        assert ran.returncode == 2 and len(ran.stderr.splitlines()) == 1, ran.stderr
    assert not list(tmp_path.iterdir())
