"""For each program a function that asserts what its output must be on a machine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from machine import Machine, numbers

OBJECT = 56  # bytes of a pthread_rwlock_t
# The blocks beside it (docs/architecture.md): bytes of the head, and of each part.
BLOCK = {"cohort": (256, 256), "per-cpu": (128, 128)}


def cpus_of(machine: Machine, node: int) -> list[int]:
    return numbers(machine.nodes[node])


def nodes(machine: Machine, cpus: Iterable[int] | None = None) -> list[int]:
    """The kernel's numbers of the nodes that have CPUs, or one of these."""
    return sorted({machine.node_of_cpu[cpu] for cpu in (machine.cpus if cpus is None else cpus)})


def node_at(machine: Machine, cpu: int, cpus: Iterable[int] | None = None) -> int:
    """lockswap's number of the CPU's node: those without CPUs have none."""
    return nodes(machine, cpus).index(machine.node_of_cpu[cpu])


def parts(machine: Machine, lock: str) -> int:
    return machine.possible if lock == "per-cpu" else len(nodes(machine))


def part(machine: Machine, lock: str, cpu: int) -> int:
    """Where a reader on this CPU counts itself in."""
    return cpu if lock == "per-cpu" else node_at(machine, cpu)


def one_at(machine: Machine, lock: str, cpu: int, times: int = 1) -> list[int]:
    return [times if n == part(machine, lock, cpu) else 0 for n in range(parts(machine, lock))]


def view(
    machine: Machine,
    out: dict[str, Any],
    *,
    rseq: bool = True,
    offline: Iterable[int] = (),
    bound: Iterable[int] = (),
) -> None:
    """bound: the CPUs that the program may use, if not all."""
    online = sorted(set(machine.cpus) - set(offline))
    allowed = sorted(bound) or online
    count = len(nodes(machine, online))
    assert out["rseq"] is rseq
    assert out["cpus"] == machine.possible
    assert out["online"] == len(online)
    assert out["allowed"] == len(allowed)
    assert out["nodes"] == count
    assert out["smt"] == machine.smt
    assert len(out["node_of_cpu"]) == machine.possible
    # The kernel knows no node of a CPU that is not there; any will do.
    assert all(n < count for n in out["node_of_cpu"])
    for cpu in online:
        assert out["node_of_cpu"][cpu] == node_at(machine, cpu, online), f"CPU {cpu}"
    assert out["places"] == [
        {
            "cpu": cpu,
            "kernels_node": machine.node_of_cpu[cpu],
            "seen": cpu,
            "asked": cpu,
            "node": node_at(machine, cpu, online),
        }
        for cpu in allowed
    ]


def footprints(machine: Machine, registry: dict[str, Any]) -> None:
    found = {lock["name"]: lock["footprint_bytes"] for lock in registry["rwlocks"]}
    for lock, (head, each) in BLOCK.items():
        assert found[lock] == OBJECT + head + each * parts(machine, lock), lock
        assert found[f"bravo-{lock}"] == found[lock], lock
    assert found["ba"] == found["rlu"] == OBJECT


def places(machine: Machine, lock: str, count: int, out: dict[str, Any]) -> None:
    """From each CPU `count` reads and a write."""
    assert [place["cpu"] for place in out["places"]] == machine.cpus
    for place in out["places"]:
        cpu = place["cpu"]
        assert place["node"] == machine.node_of_cpu[cpu]
        assert place["reads"] == one_at(machine, lock, cpu, count), f"reads on CPU {cpu}"
        # A writer has the mutex of its node, or each CPU's lock.
        all_parts = [1] * parts(machine, lock)
        assert place["write"] == (all_parts if lock == "per-cpu" else one_at(machine, lock, cpu)), f"CPU {cpu}"
    assert out["left"] == [0] * parts(machine, lock)


def here(machine: Machine, lock: str, kernels_node: int, count: int, out: dict[str, Any]) -> None:
    """`count` reads, by a program that is bound to a node."""
    cpus = cpus_of(machine, kernels_node)
    assert out["cpus"] == cpus
    assert out["node"] == kernels_node
    assert len(out["reads"]) == parts(machine, lock)
    allowed = {part(machine, lock, cpu) for cpu in cpus}
    assert sum(out["reads"]) == sum(out["reads"][n] for n in allowed) == count


def moves(machine: Machine, lock: str, out: dict[str, Any]) -> None:
    pairs = [(a, b) for a in nodes(machine) for b in nodes(machine)]
    assert [(m["from"], m["to"]) for m in out["moves"]] == pairs
    for m in out["moves"]:
        assert machine.node_of_cpu[m["from_cpu"]] == m["from"]
        assert machine.node_of_cpu[m["to_cpu"]] == m["to"]
        assert m["held"] == m["moved"] == one_at(machine, lock, m["from_cpu"]), m
        assert m["next"] == one_at(machine, lock, m["to_cpu"]), m
    assert out["left"] == [0] * parts(machine, lock)


def unplugged(machine: Machine, lock: str, cpu: int, out: dict[str, Any]) -> None:
    """A reader's CPU went away while a writer waited for it, and came back."""
    assert out["cpu"] == cpu
    assert not out["early"], "the writer got in beside the reader"
    assert out["held"] == out["unplugged"] == out["again"] == one_at(machine, lock, cpu)
    assert sorted(out["after"]) == [*[0] * (parts(machine, lock) - 1), 1]
    if lock == "per-cpu":
        assert out["after"][cpu] == 0, "counted in at a CPU that is not there"
    assert out["left"] == [0] * parts(machine, lock)


def hand_off(machine: Machine, out: dict[str, Any]) -> None:
    """The first node's writers go, as many in a row as may be, then each other node's, then the rest of the first."""
    (first, *rest), bound, others = nodes(machine), out["bound"], out["others"]
    left = len(out["order"]) - (1 + bound) - others * len(rest)
    assert left > 0
    assert out["order"] == [first] * (1 + bound) + [n for n in rest for _ in range(others)] + [first] * left
    assert out["thought"] == [nodes(machine).index(n) for n in out["order"]]
    assert out["local"] == [1 + bound + left] + [others] * len(rest)
    # Once a node, and once again for those that are left; all other hand-offs were local.
    assert out["global"] == 1 + len(rest) + 1


def mixed(machine: Machine, out: dict[str, Any]) -> None:
    """All threads of all CPUs at once."""
    assert not out["torn"] and not out["lost"], "a writer was not alone"
    assert len(out["arrivals"]) == len(out["local"]) == parts(machine, "cohort")
    assert out["arrivals"] == out["departures"]
    assert sum(out["arrivals"]) >= out["reads"] > 0  # a reader that meets a writer counts itself in and out again
    assert min(out["arrivals"]) > 0 and min(out["local"]) > 0, "a node was not used"
    assert sum(out["local"]) == out["writes"]
    # There were hand-offs between nodes and within them, the latter no more in a row than may be.
    assert 0 < out["global"] < out["writes"] <= out["global"] * 33
