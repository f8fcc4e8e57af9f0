"""What is done on each machine."""

from __future__ import annotations

import expected
from machine import Machine
from steps import NO_LOCKS, PER_NODE, REGISTRY, STRESS, VIEW, Steps, numactl

MACHINES = {
    "two nodes": Machine.even(2, 8, smt=2),
    "four nodes": Machine.even(4, 8),
    "uneven, a node without CPUs": Machine(("0", "1-3", "4-5", "")),
    "interleaved": Machine(("0,2,4", "1,3,5"), spare=2),
}
WITH_BLOCK = ("cohort", "per-cpu")  # locks that look at the machine
STRESSED = ("two nodes", "four nodes")
LOCKS = ("cohort", "per-cpu", "rlu", "rlu-asym", "bravo-cohort", "bravo-per-cpu")

OFFLINE = 1  # the node whose CPUs go; not the first, whose CPU 0 cannot
STRESS_S = 3
COUNT = 25  # reads from a place
WITHOUT_RSEQ = {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}
# What lockswap is made to believe in, so that the checks must fail. The second is right but for the numbering.
FAULT = {"LOCKSWAP_TOPOLOGY": "1x1x1"}
WRONG_NUMBERS = {"interleaved": {"LOCKSWAP_TOPOLOGY": "2x4x1"}}


def plan(name: str) -> Steps:
    machine, steps = MACHINES[name], Steps()
    _look(machine, steps)
    for lock in WITH_BLOCK:
        _use_parts(machine, steps, lock)
    for fault, variables in {"": {}, ", fault": FAULT}.items():
        steps.add(f"hand-off{fault}", PER_NODE, "hand-off", lock="cohort", **variables)
        steps.add(f"mixed{fault}", PER_NODE, "mixed", STRESS_S, lock="cohort", **variables)
    if name in WRONG_NUMBERS:
        steps.add("view, wrong numbers", VIEW, **WRONG_NUMBERS[name])
        steps.add("places, wrong numbers", PER_NODE, "places", COUNT, lock="cohort", **WRONG_NUMBERS[name])
    if name in STRESSED:
        _stress(machine, steps)
    # The last: a whole node is not there when a program starts.
    for cpu in expected.cpus_of(machine, OFFLINE):
        steps.shell(f"echo 0 >{_online(cpu)}")
    steps.add("view, offline", VIEW)
    return steps


def _look(machine: Machine, steps: Steps) -> None:
    steps.add("view", VIEW)
    steps.add("view, no rseq", VIEW, **WITHOUT_RSEQ)
    steps.add("view, fault", VIEW, **FAULT)
    steps.add("registry", REGISTRY)
    steps.add("registry, fault", REGISTRY, **FAULT)
    for node in expected.nodes(machine):
        steps.add(f"view on {node}", numactl(), f"--cpunodebind={node}", VIEW)


def _use_parts(machine: Machine, steps: Steps, lock: str) -> None:
    steps.add(f"places, {lock}, no rseq", PER_NODE, "places", COUNT, lock=lock, **WITHOUT_RSEQ)
    for fault, variables in {"": {}, ", fault": FAULT}.items():
        steps.add(f"places, {lock}{fault}", PER_NODE, "places", COUNT, lock=lock, **variables)
        for node in expected.nodes(machine):
            bound = [numactl(), f"--cpunodebind={node}", PER_NODE, "here", COUNT]
            steps.add(f"here {node}, {lock}{fault}", *bound, lock=lock, **variables)
        steps.add(f"moves, {lock}{fault}", PER_NODE, "moves", lock=lock, **variables)
        steps.add(f"unplug, {lock}{fault}", PER_NODE, "unplug", machine.cpus[-1], lock=lock, **variables)


def _stress(machine: Machine, steps: Steps) -> None:
    command = [STRESS, "--threads", 12, "--seconds", STRESS_S]
    for lock in LOCKS:
        steps.add(f"stress, {lock}", *command, lock=lock)
    steps.add("stress, fault", *command, "--mix", "plain", LD_PRELOAD=NO_LOCKS)
    # CPUs that go and come back meanwhile: the last of each node but the first, one after the other.
    coming = " ".join(_online(expected.cpus_of(machine, node)[-1]) for node in expected.nodes(machine)[1:])
    once = f"for cpu in {coming}; do echo 0 >$cpu && echo 1 >$cpu && echo $cpu >>/tmp/came; done"
    for lock in LOCKS:
        steps.shell(f"while {once}; ! [ -e /tmp/over ]; do :; done &")
        steps.add(f"stress, {lock}, unplugging", *command, lock=lock)
        steps.shell("touch /tmp/over; wait; rm /tmp/over; mv /tmp/came /tmp/counted")
        steps.add(f"came, {lock}", "sort", "/tmp/counted")


def _online(cpu: int) -> str:
    return f"/sys/devices/system/cpu/cpu{cpu}/online"
