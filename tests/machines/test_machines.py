"""lockswap on machines with several memory nodes, which are emulated: what it sees, what it keeps for each node, who
gets the writers' mutex. And that each check fails when lockswap is made to believe in another machine."""

from __future__ import annotations

import functools
import re

import expected
import pytest
from machine import MachineError, missing, run
from plan import COUNT, LOCKS, MACHINES, OFFLINE, STRESSED, WITH_BLOCK, WRONG_NUMBERS, plan
from steps import Result

pytestmark = pytest.mark.full
LIMIT_S = 3600

every_machine = pytest.mark.parametrize("name", MACHINES)
every_lock_with_block = pytest.mark.parametrize("lock", WITH_BLOCK)


@functools.cache
def boot(name: str) -> dict[str, Result] | str:
    """Once: the machine's results, or why there are none."""
    try:
        return plan(name).run(MACHINES[name], LIMIT_S)
    except MachineError as problem:
        return str(problem)


def booted(name: str) -> dict[str, Result]:
    done = boot(name)
    if isinstance(done, str):
        pytest.fail(done, pytrace=False)
    return done


def check(holds, name: str, *how, step: str) -> None:
    """`holds` must hold of a step's output, and must not of the same step's under a fault."""
    holds(MACHINES[name], *how, booted(name)[step].json)
    with pytest.raises(AssertionError):
        holds(MACHINES[name], *how, booted(name)[f"{step}, fault"].json)


@every_machine
def test_the_topology_is_what_qemu_was_told(name):
    check(expected.view, name, step="view")
    done = booted(name)
    expected.view(MACHINES[name], done["view, no rseq"].json, rseq=False)
    with pytest.raises(AssertionError):
        expected.view(MACHINES[name], done["view, no rseq"].json, rseq=True)


@every_machine
def test_a_bound_program_may_use_its_nodes_cpus_and_sees_all(name):
    machine = MACHINES[name]
    for node in expected.nodes(machine):
        seen = booted(name)[f"view on {node}"].json
        expected.view(machine, seen, bound=expected.cpus_of(machine, node))
        with pytest.raises(AssertionError):
            expected.view(machine, seen)


@every_machine
def test_a_node_whose_cpus_are_offline_is_none(name):
    machine, seen = MACHINES[name], booted(name)["view, offline"].json
    expected.view(machine, seen, offline=expected.cpus_of(machine, OFFLINE))
    with pytest.raises(AssertionError):
        expected.view(machine, seen)


@every_machine
def test_blocks_have_a_part_for_each_node_or_cpu(name):
    check(expected.footprints, name, step="registry")


@every_machine
@every_lock_with_block
def test_readers_and_writers_come_to_the_part_of_their_cpu(name, lock):
    check(expected.places, name, lock, COUNT, step=f"places, {lock}")
    expected.places(MACHINES[name], lock, COUNT, booted(name)[f"places, {lock}, no rseq"].json)


@pytest.mark.parametrize("name", WRONG_NUMBERS)
def test_the_right_number_of_nodes_is_not_enough(name):
    machine, done = MACHINES[name], booted(name)
    with pytest.raises(AssertionError):
        expected.view(machine, done["view, wrong numbers"].json, rseq=True)
    with pytest.raises(AssertionError, match="reads on CPU"):
        expected.places(machine, "cohort", COUNT, done["places, wrong numbers"].json)


@every_machine
@every_lock_with_block
def test_programs_bound_by_numactl_stay_at_their_nodes_parts(name, lock):
    for node in expected.nodes(MACHINES[name]):
        check(expected.here, name, lock, node, COUNT, step=f"here {node}, {lock}")


@every_machine
@every_lock_with_block
def test_holds_stay_where_they_were_taken_when_their_threads_move(name, lock):
    check(expected.moves, name, lock, step=f"moves, {lock}")


@every_machine
@every_lock_with_block
def test_holds_outlive_their_cpu(name, lock):
    check(expected.unplugged, name, lock, MACHINES[name].cpus[-1], step=f"unplug, {lock}")


@every_machine
def test_the_mutex_stays_on_a_node_for_so_long_and_no_longer(name):
    check(expected.hand_off, name, step="hand-off")


@every_machine
def test_every_node_takes_part_and_is_counted(name):
    check(expected.mixed, name, step="mixed")


@pytest.mark.parametrize("name", STRESSED)
@pytest.mark.parametrize("lock", LOCKS)
def test_locks_exclude(name, lock):
    done = booted(name)
    excluded(done[f"stress, {lock}"], lock)
    excluded(done[f"stress, {lock}, unplugging"], lock)
    came_back = set(done[f"came, {lock}"].output.split())
    assert len(came_back) == len(expected.nodes(MACHINES[name])) - 1


@pytest.mark.parametrize("name", STRESSED)
def test_locks_that_do_not_exclude_are_found(name):
    done = booted(name)["stress, fault"]
    assert done.status == 1
    assert "inside beside a" in done.output or "two writers" in done.output
    with pytest.raises(AssertionError):
        excluded(done, "cohort")


def excluded(done: Result, lock: str) -> None:
    assert done.status == 0, done.output
    assert f"rwlock {lock}" in done.output  # it ran under it
    operations, writes = map(int, re.search(r"(\d+) operations, (\d+) writes, 0 violations", done.output).groups())
    assert operations > writes > 100


def test_a_machine_that_hangs_or_stops_is_told():
    if problem := missing():
        pytest.fail(problem, pytrace=False)
    with pytest.raises(MachineError, match=r"(?s)has not ended after 10 s.*its output: before"):
        run(MACHINES["two nodes"], "echo before; sleep 1000", [], 10)
    with pytest.raises(MachineError, match=r"(?s)ended by itself.*panic"):
        run(MACHINES["two nodes"], "echo c >/proc/sysrq-trigger", [], 100)


def test_a_programs_status_is_told():
    output, status = run(MACHINES["two nodes"], "nproc; exit 7", [], 100)
    assert (output, status) == ("8\n", 7)
