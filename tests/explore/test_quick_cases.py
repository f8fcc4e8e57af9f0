"""Which cases a run explores, and which faults it plants."""

from quick_cases import NEVER, changed_locks, chosen, locks_of
from structural_faults import in_turn, names_in, read_tables

CASES = [
    "core/ba/spin/1w2r",
    "core/ba/park/twice",
    "bravo-ba/park/timed-read",
    "ba/park/recursive",
    "core/mutex/mcs/spin/3w",
    "core/mutex/mcs/park/timed",
    "mutex/mcs/park/foreign",
    "cond/mcs/park/signal",
    "cond/mcs/park/timed",
    "bonsai/path/again",
    "bravo-asym-ba/park/fork-hold",
    "bravo-ba/spin/2w1r",
]


def test_four_runs_have_all():
    assert set().union(*(chosen(CASES, quarter, []) for quarter in range(4))) == set(CASES)


def test_where_all_locks_are_concerned_four_runs_have_all():
    assert set().union(*(chosen(CASES, quarter, None) for quarter in range(4))) == set(CASES)


def test_exclusion_and_lost_wakeups_are_in_each():
    for quarter in range(4):
        taken = chosen(CASES, quarter, [])
        assert {"core/ba/spin/1w2r", "core/mutex/mcs/spin/3w", "cond/mcs/park/signal", "bravo-ba/spin/2w1r"} <= set(
            taken
        )
        assert len(taken) < len(CASES)


def test_under_another_memory_model_four_runs_have_all():
    turns = [case for quarter in range(4) for case in chosen(CASES, quarter, [], NEVER)]
    assert sorted(turns) == sorted(CASES)


def test_a_changed_lock_has_all_of_its_cases():
    for quarter in range(4):
        taken = set(chosen(CASES, quarter, ["ba"]))
        assert {name for name in CASES if "ba/" in name} <= taken


def test_a_header_of_several_locks_changes_them_all():
    assert set(locks_of("locks/rw/cohort.h")) >= {"cohort", "cohort-n", "cohort-rp"}
    assert "cohort" in changed_locks(["src/locks/rw/cohort.h", "README.md"])


def test_a_part_of_several_locks_changes_these_alone():
    of = locks_of("locks/common/eventual_front.h")
    assert "eventual" in of and "ba" not in of
    assert changed_locks(["src/locks/common/eventual_front.h"]) == of


def test_what_locks_share_concerns_every_case():
    assert changed_locks(["src/posix/rw_contract.h"]) is None
    assert changed_locks(["tests/explore/runner.cpp"]) is None
    assert changed_locks(["docs/locks.md", "harness/lockswap/cli.py"]) == []


def names(faults):
    return [fault["name"] for fault in faults]


def test_four_runs_plant_all_faults():
    edits, faults = read_tables()
    turns = [name for quarter in range(4) for name in names(in_turn(edits, faults, quarter, []))]
    assert sorted(turns) == sorted(names(faults))


def test_of_many_changed_headers_two_runs_plant_all_faults():
    edits, faults = read_tables()
    headers = [f"src/{edit['file']}" for edit in edits] + [f"include/{edit['file']}" for edit in edits]
    first, second = (names(in_turn(edits, faults, quarter, headers)) for quarter in (0, 1))
    assert set(first) | set(second) == set(names(faults))
    assert len(first) + len(second) == len(faults)


def test_a_changed_header_has_all_of_its_faults():
    edits, faults = read_tables()
    header = edits[0]["file"]
    its = {name for edit in edits if edit["file"] == header for name in names_in(edit)}
    for quarter in range(4):
        taken = set(names(in_turn(edits, faults, quarter, [f"src/{header}", f"include/{header}"])))
        assert its <= taken < set(names(faults))


def test_of_a_changed_table_two_runs_plant_all_faults():
    edits, faults = read_tables()
    turns = [name for quarter in (0, 1) for name in names(in_turn(edits, faults, quarter, ["structural_faults.toml"]))]
    assert sorted(turns) == sorted(names(faults))
