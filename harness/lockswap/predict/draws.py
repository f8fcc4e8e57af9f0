"""Draws at random what isn't known of a machine, anew for each run of the model, so that a prediction is a band.

Three constants were fitted on public rows of raw atomics (two Xeon E5-2680 v4, 1 to 32 threads, facebook/folly), and
are the same for every machine and lock. Everything else is a machine's matrix, or is drawn.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lockswap.predict.machines import Machine
from lockswap.predict.workloads import Workload

# An atomic update beside the access; the share of a transfer until the request has reached the owner; how much longer a
# transfer takes while others wait for the line.
FITTED = {"update": 4.2, "reach": 0.3, "queued": 1.6}

ARBITRATIONS = ("first_come", "nearest", "random")


@dataclass(frozen=True)
class Draw:
    """One set of guesses, as lines for lockswap-model."""

    text: str

    @classmethod
    def of(cls, machine: Machine, workload: Workload, writes: float, seed: int) -> "Draw":
        rng = random.Random(f"{machine.name} {workload.name} {seed}")
        step = rng.uniform(*workload.step_ns)
        costs = (
            FITTED
            | {
                **_of_the_core(machine, rng),
                "serve": rng.uniform(3, 8),
                "stream": rng.uniform(6, 11),
                "clock": rng.uniform(15, 30),
                "jitter": rng.uniform(0.05, 0.3),
                "shared_core": rng.uniform(1.2, 1.6),
                "memory": rng.uniform(70, 110),
                "noise": rng.uniform(0.1, 0.4),
            }
            | dict(machine.costs)
        )
        # A machine may be faster or slower than the measured one of its kind.
        order, factor = placed(machine, rng), rng.lognormvariate(0, machine.spread)
        lines = [
            *machine_lines(machine, order, factor, costs),
            f"arbitration {rng.choice(ARBITRATIONS)}",
            f"writes {writes:g}",
            f"inside {workload.inside_steps * step:.3f}",
            f"outside {workload.outside_steps * step:.3f}",
            f"varies {int(workload.varies)}",
            f"lines {workload.lines}",
            f"ring {int(workload.ring)}",
            f"locks {workload.locks}",
            f"writers {workload.writers} {workload.outside_steps_of_writers * step:.3f}",
            *([f"ranges {workload.ranges}"] if workload.ranges else []),
            *([f"set {workload.items} {workload.buckets}"] if workload.items else []),
            *([f"program {workload.program} {workload.memory} {workload.mapping:g}"] if workload.program else []),
            f"seed {seed + 1}",
        ]
        return cls("\n".join(lines) + "\n")


def _of_the_core(machine: Machine, rng: random.Random) -> dict[str, float]:
    """An access to a line that is here takes 4 or 5 cycles on processors of these years. The instructions before it are
    a few; how long a cycle is depends on how many cores are busy, and on the machine's settings."""
    if machine.ghz is None:
        return {"hit": rng.uniform(1.0, 1.6), "step": rng.uniform(1.0, 2.5)}
    ghz = rng.uniform(*machine.ghz)
    return {"hit": rng.uniform(4, 5) / ghz, "step": rng.uniform(3, 7) / ghz}


def placed(machine: Machine, rng: random.Random) -> list[int]:
    """The cores in the order in which threads get them: each core has one before any has two, as Linux does it. Where
    the next one comes is its choice: anywhere, in the same node as long as there is room, or in the next node."""
    way = rng.choice(("anywhere", "same node", "next node"))
    order = []
    for _ in range(machine.threads):
        nodes = [rng.sample(range(n * machine.cores, (n + 1) * machine.cores), machine.cores)
                 for n in rng.sample(range(machine.nodes), machine.nodes)]  # fmt: skip
        cores = [core for node in nodes for core in node]
        if way == "next node":
            cores = [core for turn in zip(*nodes, strict=True) for core in turn]
        elif way == "anywhere":
            rng.shuffle(cores)
        order += cores
    return order


def machine_lines(machine: Machine, order: Sequence[int], factor: float, costs: Mapping[str, float]) -> list[str]:
    """The machine as lockswap-model reads it: threads get cores in this `order`, and all transfers take `factor` times
    as long as in the matrix."""
    return [
        f"places {len(order)}",
        *(f"{core} {machine.node_of(core)}" for core in order),
        f"transfer {len(machine.latency_ns) ** 2}",
        *(" ".join(f"{ns * factor:.1f}" for ns in row) for row in machine.latency_ns),
        *(f"cost {name} {value:.3f}" for name, value in costs.items()),
    ]
