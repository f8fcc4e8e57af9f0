"""tools/measure_bravo.py: when it continues, which time counts, and which results it does not call measured."""

import itertools
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import measure_bravo
import measure_costs
from measure_bravo import LEAST_PAIRS, Rounds, at_least, at_most, verdict


def rounds_of(**figures) -> Rounds:
    """Subjects whose runs have these figures, each a list that is repeated for ever."""
    endless = {
        subject: {name: itertools.cycle(values) for name, values in ({"kept": [1], "all_ns": [30]} | run).items()}
        for subject, run in figures.items()
    }
    return Rounds(list(figures), lambda subject: {name: next(values) for name, values in endless[subject].items()})


def test_a_clear_ratio_needs_the_least_number_of_rounds():
    rounds = rounds_of(a={"live_ns": [22, 21.9, 22.1]}, b={"live_ns": [20]})
    (found,) = rounds.go(LEAST_PAIRS, 1000, lambda: [rounds.ratio("a", "b", "live_ns")])
    assert found["pairs"] == LEAST_PAIRS and found["measured"] and found["ratio"] == pytest.approx(1.1, rel=0.01)
    assert found["low"] <= found["ratio"] <= found["high"]
    assert verdict(found | at_most(1.2)) == "yes" and verdict(found | at_most(1.0)) == "no"
    assert verdict(found | at_least(1.2)) == "no"


def test_a_wide_interval_asks_for_more_and_is_not_called_measured():
    rounds = rounds_of(a={"live_ns": [5, 10, 20, 40, 80]}, b={"live_ns": [20]})
    (found,) = rounds.go(LEAST_PAIRS, 60, lambda: [rounds.ratio("a", "b", "live_ns")])
    assert 60 <= found["pairs"] < 80
    assert verdict(found | at_most(100)) == "not measured"


def test_too_few_pairs_are_not_measured():
    rounds = rounds_of(a={"live_ns": [20]}, b={"live_ns": [20]})
    (found,) = rounds.go(6, 6, lambda: [rounds.ratio("a", "b", "live_ns")])
    assert not found["measured"]


def test_rounds_in_which_nothing_was_live_are_no_pairs():
    rounds = rounds_of(a={"live_ns": [20, 0]}, b={"live_ns": [10]}, c={"live_ns": [0]})
    rounds.go(LEAST_PAIRS, 62, lambda: [rounds.ratio("a", "b", "live_ns")])
    found = rounds.ratio("a", "b", "live_ns")
    assert found["pairs"] >= LEAST_PAIRS and found["ratio"] == pytest.approx(2)
    assert len(rounds.runs["a"]) > found["pairs"]
    assert verdict(rounds.ratio("a", "c", "live_ns") | at_most(9)) == "not measured"


def test_all_the_time_counts_when_little_was_live():
    rounds = rounds_of(glibc={"kept": [0.9]}, good={"kept": [0.5]}, poor={"kept": [0.4, 0.4, 0.9]})
    for subject in rounds.subjects:
        rounds.runs[subject] = [rounds.measure(subject) for _ in range(3)]
    assert rounds.time_of("good", reference="glibc") == "live_ns"
    assert rounds.time_of("good", "poor", reference="glibc") == "all_ns"
    assert rounds.time_of("good", "poor") == "live_ns"


def test_all_the_time_stands_beside_live_stretches():
    rounds = rounds_of(a={"live_ns": [20], "all_ns": [90]}, b={"live_ns": [10]})
    (found,) = rounds.go(LEAST_PAIRS, LEAST_PAIRS, lambda: [rounds.ratio("a", "b", "live_ns")])
    assert (found["ratio"], found["all"]["ratio"]) == pytest.approx((2, 3))
    rows = {"a / b": found | at_most(9)}
    assert "| 2.000 (2.000 to 2.000) | 3.000 (3.000 to 3.000) |" in measure_bravo.markdown({"title": "", "rows": rows})
    (found,) = rounds.go(LEAST_PAIRS, LEAST_PAIRS, lambda: [rounds.ratio("a", "b", "all_ns")])
    assert "all" not in found


def test_a_busy_machine_measures_nothing():
    rounds = rounds_of(a={"live_ns": [20], "ops_cpu": [20], "kept": [0.2]}, b={"live_ns": [20], "ops_cpu": [20]})
    rounds.go(LEAST_PAIRS, LEAST_PAIRS, list)
    assert rounds.ratio("a", "b", "live_ns")["measured"]
    for run in rounds.runs["b"]:
        run["kept"] = 0.29
    assert verdict(rounds.ratio("a", "b", "live_ns") | at_most(9)) == "not measured: the machine was busy"
    assert rounds.ratio("a", "b", "ops_cpu")["measured"]  # a CPU-second is one on a busy machine too


def test_every_subject_has_its_turn_in_each_round():
    order = []
    rounds = Rounds(["a", "b", "c"], lambda subject: order.append(subject) or {"live_ns": 1.0})
    rounds.go(3, 3, list)
    assert order == ["a", "b", "c", "b", "c", "a", "c", "a", "b"]


def test_mistakes_are_named(capsys, monkeypatch):
    for arguments, says in ((["hram"], "hram"), (["--pairs", "0"], "--pairs"), (["--most", "3"], "--most")):
        monkeypatch.setattr(sys, "argv", ["measure_bravo", *arguments])
        assert measure_bravo.main() == 2
        assert says in capsys.readouterr().err


def test_the_machine_stands_beside_the_figures(tmp_path):
    measure_costs.record_machine(tmp_path / "new")
    assert json.loads((tmp_path / "new/env.json").read_text())["lockswap"]
