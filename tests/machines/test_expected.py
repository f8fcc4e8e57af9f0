"""The expectations of a machine must refuse an output that is wrong in one place."""

from __future__ import annotations

import copy

import expected
import pytest
from machine import Machine, MachineError, numbers

TWO = Machine.even(2, 4)
GAP = Machine(("0-1", "", "2-3"))  # node 1 has no CPUs

HAND_OFF = {
    "bound": 3,
    "others": 2,
    "order": [0, 0, 0, 0, 1, 1, 0, 0],
    "thought": [0, 0, 0, 0, 1, 1, 0, 0],
    "local": [6, 2],
    "global": 3,
}
MIXED = {
    "reads": 90,
    "writes": 30,
    "torn": 0,
    "lost": False,
    "arrivals": [60, 35],
    "departures": [60, 35],
    "local": [16, 14],
    "global": 11,
}
UNPLUGGED = {
    "cpu": 3,
    "early": False,
    "held": [0, 0, 0, 1],
    "unplugged": [0, 0, 0, 1],
    "after": [0, 1, 0, 0],
    "again": [0, 0, 0, 1],
    "left": [0, 0, 0, 0],
}
VIEW = {
    "cpus": 4,
    "online": 4,
    "allowed": 4,
    "nodes": 2,
    "smt": 1,
    "rseq": True,
    "node_of_cpu": [0, 0, 1, 1],
    "places": [{"cpu": c, "kernels_node": 2 * (c // 2), "seen": c, "asked": c, "node": c // 2} for c in range(4)],
}


def refused(holds, good: dict, **wrong: object) -> None:
    holds(copy.deepcopy(good))
    with pytest.raises(AssertionError):
        holds(copy.deepcopy(good) | wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"order": [0, 0, 0, 0, 0, 1, 1, 0], "thought": [0, 0, 0, 0, 0, 1, 1, 0]},  # one too many in a row
        {"order": [0, 0, 0, 1, 1, 0, 0, 0], "thought": [0, 0, 0, 1, 1, 0, 0, 0]},  # one too few
        {"order": [0, 1, 0, 1, 0, 0, 0, 0], "thought": [0, 1, 0, 1, 0, 0, 0, 0]},  # first come, first served
        {"order": [0, 0, 0, 0, 0, 0, 1, 1], "thought": [0, 0, 0, 0, 0, 0, 1, 1]},  # never the others
        {"thought": [0] * 8},
        {"local": [8, 0]},
        {"global": 8},
        {"global": 2},
    ],
)
def test_hand_offs(wrong):
    refused(lambda out: expected.hand_off(TWO, out), HAND_OFF, **wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"torn": 1},
        {"lost": True},
        {"reads": 0},
        {"reads": 96},
        {"arrivals": [95, 0], "departures": [95, 0]},
        {"departures": [59, 35]},
        {"arrivals": [60, 35, 0], "departures": [60, 35, 0]},
        {"local": [30, 0]},
        {"local": [16, 13]},
        {"global": 30},  # no hand-off within a node
        {"global": 0},
    ],
)
def test_counts(wrong):
    refused(lambda out: expected.mixed(TWO, out), MIXED, **wrong)


def test_no_more_in_a_row_than_may_be():
    many = MIXED | {"writes": 3000, "local": [1500, 1500]}
    refused(lambda out: expected.mixed(TWO, out), many | {"global": 100}, **{"global": 90})


@pytest.mark.parametrize(
    "wrong",
    [
        {"early": True},
        {"held": [0, 0, 1, 0]},
        {"unplugged": [0, 0, 0, 0]},
        {"after": [0, 0, 0, 1]},
        {"after": [0, 0, 0, 0]},
        {"again": [1, 0, 0, 0]},
        {"left": [0, 0, 0, 1]},
    ],
)
def test_holds_whose_cpu_goes_away(wrong):
    refused(lambda out: expected.unplugged(TWO, "per-cpu", 3, out), UNPLUGGED, **wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"cpus": 3},
        {"online": 3},
        {"allowed": 2},
        {"nodes": 3},  # the one without CPUs, too
        {"smt": 2},
        {"rseq": False},
        {"node_of_cpu": [0, 0, 2, 2]},
        {"node_of_cpu": [0, 1, 0, 1]},
        {"places": VIEW["places"][:3]},
        {"places": [place | {"node": 0} for place in VIEW["places"]]},
        {"places": [place | {"asked": 0} for place in VIEW["places"]]},
        {"places": [place | {"seen": 0} for place in VIEW["places"]]},
    ],
)
def test_views(wrong):
    refused(lambda out: expected.view(GAP, out), VIEW, **wrong)


def test_a_bound_program_that_strays():
    good = {"cpus": [2, 3], "node": 1, "reads": [0, 0, 4, 6]}
    refused(lambda out: expected.here(TWO, "per-cpu", 1, 10, out), good, reads=[0, 1, 3, 6])
    good = {"cpus": [2, 3], "node": 1, "reads": [0, 10]}
    refused(lambda out: expected.here(TWO, "cohort", 1, 10, out), good, reads=[10, 0])


def test_numbers_of_cpus():
    assert numbers("0-3,8") == [0, 1, 2, 3, 8]
    assert numbers("") == []
    assert Machine.even(4, 8, smt=2).nodes == ("0-1", "2-3", "4-5", "6-7")
    for impossible in (Machine(("0-1", "3")), Machine(("1", "0")), Machine(("", "0")), Machine(("0-2",), smt=2)):
        with pytest.raises(MachineError, match="no such machine"):
            impossible.arguments()
