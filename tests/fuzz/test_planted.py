"""25 programs with a known fault, and the same without it, under `lockswap fuzz --serial`."""

import pytest
from measure_planted import logged, measured, programs, repeats, search

from lockswap.fuzz.steps import as_schedule

# One or two of each kind of fault; the full tier has all of them.
SOME = ("fast_path", "nested_reads", "last_seat", "try_loop", "early_signal", "held", "children", "two_paths")


@pytest.mark.parametrize("name", SOME)
def test_a_fault_is_found_and_its_order_fails_again(name):
    found = search(name, 1, "--serial", again=3)
    assert found["failure"] is not None and found["failure"].startswith(("crash: SIGABRT", "hang: ")), found
    # On a machine that is so busy that a thread lost its turn the order says so.
    if not found["order"]["by_time"]:
        assert found["again"] == found["order"]["fails_again"] == 3, found


@pytest.mark.parametrize("name", SOME)
def test_the_right_program_does_not_fail(name):
    found = search(f"{name} right", 1, "--serial", runs=10)
    assert found["failure"] is None, found


def test_a_thread_that_polls_a_lock_lets_others_go_on_in_a_schedule(tmp_path):
    schedule = tmp_path / "schedule"
    failed_tries = 0
    for count in range(1, 6):
        schedule.write_text(as_schedule([(1, count, 2)]))
        log = logged("try_loop right", f"0,schedule={schedule}")
        assert not log.is_deadlock
        failed_tries += sum(one.kind == 8 for one in log.steps)
    assert failed_tries > 0


@pytest.mark.full
def test_faults_of_each_kind_are_found():
    found = {name: measured(name, [1, 10_001]) for name in programs()}
    runs = {name: [one for one in row["runs"] if one is not None] for name, row in found.items()}
    assert len(runs) == 25 and sum(map(bool, runs.values())) >= 22, found
    assert sum(len(one) for one in runs.values()) >= 44, found
    assert sum(row["again"] for row in found.values()) >= 0.95 * sum(row["of"] for row in found.values()), found
    shortened = sum(row["shortened_again"] for row in found.values())
    assert shortened >= 0.9 * sum(row["shortened_of"] for row in found.values()), found


@pytest.mark.full
def test_a_seed_has_the_same_order_in_two_processes():
    same = {name: repeats(name, range(1, 5)) for name in programs()}
    assert sum(map(sum, same.values())) >= 95, same


@pytest.mark.full
def test_no_right_program_fails():
    wrong = {name: search(f"{name} right", 1, "--serial", runs=100) for name in programs()}
    assert not {name: found for name, found in wrong.items() if found["failure"] is not None}
