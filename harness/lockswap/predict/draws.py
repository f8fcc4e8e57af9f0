"""Draws at random what isn't known of a machine, anew for each run of the model, so that a prediction is a band.

Three constants were fitted on public rows of raw atomics (two Xeon E5-2680 v4, 1 to 32 threads, facebook/folly), and
are the same for every machine and lock. Everything else is a machine's matrix, or is drawn.
"""

import random
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
                "hit": rng.uniform(1.0, 1.6),
                "step": rng.uniform(1.0, 2.5),
                "serve": rng.uniform(3, 8),
                "stream": rng.uniform(6, 11),
                "clock": rng.uniform(15, 30),
                "jitter": rng.uniform(0.05, 0.3),
                "shared_core": rng.uniform(1.2, 1.6),
                "memory": rng.uniform(70, 110),
            }
            | dict(machine.costs)
        )
        lines = [
            *_places(machine, rng),
            *_transfers(machine, rng),
            *(f"cost {name} {value:.3f}" for name, value in costs.items()),
            f"arbitration {rng.choice(ARBITRATIONS)}",
            f"writes {writes:g}",
            f"inside {workload.inside_steps * step:.3f}",
            f"outside {workload.outside_steps * step:.3f}",
            f"varies {int(workload.varies)}",
            f"lines {workload.lines}",
            f"ring {int(workload.ring)}",
            f"seed {seed + 1}",
        ]
        return cls("\n".join(lines) + "\n")


def _places(machine: Machine, rng: random.Random) -> list[str]:
    """Threads get a core each, in any order, before any core gets a second one, as Linux places them."""
    cores = machine.nodes * machine.cores
    places = []
    for _ in range(machine.threads):
        order = list(range(cores))
        rng.shuffle(order)
        places += [f"{core} {machine.node_of(core)}" for core in order]
    return [f"places {len(places)}", *places]


def _transfers(machine: Machine, rng: random.Random) -> list[str]:
    """The matrix, as fast or slow as another one of its kind may be."""
    factor = rng.lognormvariate(0, 0.08)
    return [f"transfer {len(machine.latency_ns) ** 2}"] + [
        " ".join(f"{ns * factor:.1f}" for ns in row) for row in machine.latency_ns
    ]
