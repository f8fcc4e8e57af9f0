"""What a machine's scheduler takes, drawn from what was measured there, or else from wide intervals."""

import math
import random

from lockswap.predict.machines import Machine

# Nanoseconds, of the model's costs, where a machine file has no measured ones.
_SLEEPING = {"park": (500.0, 1500.0), "unpark": (300.0, 1000.0), "wake": (2000.0, 10000.0)}
_TURNS = {"slice": (1e6, 4e6), "switch": (1000.0, 3000.0)}
# A thread has about this many turns in a run with more threads than processors.
_TURNS_IN_A_RUN = 10


def sleeping(machine: Machine, rng: random.Random) -> dict[str, float]:
    """The costs of threads that sleep and are woken."""
    return _drawn(machine, _SLEEPING, rng) | {
        # The library polls up to 500 times before a thread sleeps, with a pause that takes from 4 to 47 ns.
        "pauses": math.exp(rng.uniform(math.log(170), math.log(2000))),
    }


def sharing(machine: Machine, seed: int) -> str:
    """The same, and those of threads that take turns on the processors, as lines for lockswap-model."""
    rng = random.Random(f"scheduling {machine.name} {seed}")
    costs = sleeping(machine, rng) | _drawn(machine, _TURNS, rng)
    # Whether a woken thread runs at once differs between kernels, and it may depend on what ran before.
    preempts = rng.choice((0, 0.5, 1))
    return "".join(f"cost {name} {value:.0f}\n" for name, value in costs.items()) + f"cost preempts {preempts}\n"


def long_enough_ns(machine: Machine, threads: int) -> float:
    """The virtual time in which threads have had enough turns."""
    longest = (_TURNS | dict(machine.intervals))["slice"][1]
    return _TURNS_IN_A_RUN * longest * math.ceil(threads / machine.processors)


def _drawn(machine: Machine, usual: dict[str, tuple[float, float]], rng: random.Random) -> dict[str, float]:
    intervals = usual | dict(machine.intervals)
    return {name: rng.uniform(*intervals[name]) for name in usual}
