"""Which cases a run explores to their end, and whether the planted faults still fit."""

from quick_cases import finders, to_the_end
from structural_faults import edited, read_tables


def test_exclusion_and_lost_wakeups_go_to_their_end():
    cases = ["core/ba/spin/1w2r", "core/mutex/mcs/spin/3w", "cond/mcs/park/signal", "bravo-ba/spin/2w1r"]
    assert to_the_end([*cases, "ba/park/recursive-three-times"]) == cases


def test_what_finds_a_planted_fault_goes_to_its_end():
    _, faults = read_tables()
    named = {fault["found_by"] for fault in faults if "found_by" in fault}
    assert len(named) > 100
    assert named <= finders()
    assert set(to_the_end(sorted(named))) == named


def test_all_edits_of_planted_faults_fit_their_sources():
    # Planting them is a part of ./run.sh test --full; edited() ends the process where one does not fit.
    edits, faults = read_tables()
    assert len(edited(edits, faults)) > 10
