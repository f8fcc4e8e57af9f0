"""`lockswap machine`: measures this machine, and writes one file by which `lockswap predict` can model it elsewhere."""

import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import tomli_w

from lockswap.base.errors import UserError, cannot_write
from lockswap.base.paths import Paths
from lockswap.base.registry import Registry
from lockswap.base.text import plural
from lockswap.predict import measuring, topology
from lockswap.predict.measuring import Spread
from lockswap.predict.topology import Grid
from lockswap.records import durable
from lockswap.run import machine
from lockswap.run.cpus import cpus

# Of latencies, where --seconds says nothing: this long for a pair, within these bounds.
_PAIR_S, _LEAST_S, _MOST_S = 0.2, 1.0, 60.0
SCHEMA = 1
# Of the latencies' logarithm, from one measurement of this machine to another.
_SPREAD = 0.02
# Latencies whose quartiles are further apart than this share of the median were disturbed.
_UNSURE = 0.5


def run(paths: Paths, out: Path, seconds: float | None) -> int:
    if out.exists():
        raise UserError(f"{out} exists already: name another file with --out")
    if out.suffix != ".toml":
        raise UserError(f"--out {out}: the name of a machine file must end in .toml: use {out.stem}.toml")
    text = tomli_w.dumps(measure(paths, seconds), multiline_strings=True)
    try:
        durable.replace(out, text)
    except OSError as error:
        raise UserError(cannot_write(out, error)) from error
    print(
        f"lockswap: wrote {out} ({len(text) / 1024:.0f} KB), which names neither this machine nor a user; "
        f"'lockswap predict --machine {out}' reads it",
        file=sys.stderr,
    )
    return 0


def measure(paths: Paths, seconds: float | None = None) -> dict[str, Any]:
    """The machine file as a table."""
    program, registry, grid = paths.measure, Registry.load(paths), Grid.of(cpus())
    if grid.left_out:
        numbers = ", ".join(map(str, grid.left_out))
        print(
            f"lockswap: note: processors {numbers} are left out: in a machine file all nodes have the same number "
            "of cores, and all cores the same number of threads",
            file=sys.stderr,
        )
    count = len(grid.processors)
    budget = seconds or min(max(count * (count - 1) / 2 * _PAIR_S, _LEAST_S), _MOST_S)
    latencies = measuring.latencies(program, grid, budget)
    _warn(latencies)
    own = measuring.operations(program, grid.processors[0])
    waits = measuring.scheduling(program, grid)
    locks = measuring.locks(paths, program, registry, grid.processors[0])
    env = machine.environment(paths, registry.version, None, ())
    return describe(grid, latencies, own, locks, env, waits)


def describe(
    grid: Grid,
    latencies: dict[tuple[int, int], Spread],
    own: dict[str, Spread],
    locks: dict[str, dict[str, float]],
    env: dict[str, Any],
    waits: dict[str, Spread] | None = None,
) -> dict[str, Any]:
    """`waits` is what the scheduler takes."""
    today = datetime.now(UTC).date().isoformat()
    rows = measuring.matrix(grid, latencies, own["load"].median)
    cores = len(grid.cores) // grid.nodes
    return {
        "schema": SCHEMA,
        "title": f"{env['cpu']['model']}, {grid.nodes} x {cores} cores x {plural(grid.threads, 'thread')}",
        "sources": [
            f"Measured by 'lockswap machine' {env['lockswap']['library']} on the machine itself, {today}. Latencies: "
            "one way of a compare-exchange that two threads send back and forth, the median of several rounds, in "
            "nanoseconds; between two cores, the median over their threads."
        ],
        "nodes": grid.nodes,
        "cores": cores,
        "threads": grid.threads,
        "latency_table": "".join(",".join(f"{ns:.1f}" for ns in row) + "\n" for row in rows),
        "spread": _SPREAD,
        "costs": model_costs(own),
        "intervals": model_intervals(waits or {}),
        "measured": {
            "date": today,
            "load_at_start": env["load_at_start"],
            "left_out": list(grid.left_out),
            "spread": {"latencies": _spread(latencies.values()), "operations": _spread(own.values())},
            "operations_ns": {name: one.median for name, one in own.items()},
            "scheduling_ns": {name: [one.low, one.median, one.high] for name, one in (waits or {}).items()},
            "uncontended_pairs_ns": {
                label: {kind: round(ns, 2) for kind, ns in kinds.items()} for label, kinds in locks.items()
            },
        },
        "topology": {
            "summary": env["cpu"]["topology"],
            "caches": topology.caches(grid.processors[0]),
            "cores": [" ".join(map(str, core)) for core in grid.cores],
        },
        "versions": {
            "lockswap": env["lockswap"]["library"],
            "commit": env["lockswap"]["commit"],
            "compiler": env["compiler"],
            "glibc": env["glibc"] or "unknown",
            "kernel": env["kernel"],
            "os": env["os"],
            "governor": env["cpu"]["governor"],
            "virtualisation": env["cpu"]["virtualisation"],
        },
    }


def model_costs(own: dict[str, Spread]) -> dict[str, float]:
    """As src/multicore/cost/machine.h names them. An update costs what it takes beside the access.

    A processor overlaps the plain accesses of a lock's code, so they cost what one costs among others, and the
    instructions between two of them what a branch adds.
    """
    hit = own["load_among_others"].median
    return {
        "hit": round(hit, 3),
        "step": round(max(own["load_and_branch"].median - hit, 0.0), 3),
        "update": round(max(own["compare_exchange"].median - hit, 0.1), 3),
        "fence": round(own["store_and_fence"].median, 3),
        "clock": round(own["clock"].median, 3),
    }


def model_intervals(waits: dict[str, Spread]) -> dict[str, list[float]]:
    """The quartiles between which the model draws what it takes to sleep, to wake, to be woken and to switch threads,
    and how long a time slice is. A thread that goes to sleep makes a call, from which the next thread comes back."""
    if not waits:
        return {}
    names = ("wake_call", "wake", "futex_call", "switch", "slice")
    call, wake, enter, switch, turn = (waits[name] for name in names)
    return {
        "park": [round(enter.low, 1), round(enter.high + switch.low, 1)],
        "unpark": [round(call.low, 1), round(call.high, 1)],
        "wake": [round(max(wake.low - call.low, 0.0), 1), round(max(wake.high - call.high, 0.0), 1)],
        "switch": [round(switch.low, 1), round(switch.high, 1)],
        "slice": [round(turn.low, 1), round(turn.high, 1)],
    }


def _warn(latencies: dict[tuple[int, int], Spread]) -> None:
    unsure = [one for one in latencies.values() if one.high - one.low > _UNSURE * one.median]
    if unsure:
        print(
            f"lockswap: warning: {len(unsure)} of {len(latencies)} latencies vary by more than {_UNSURE:.0%}: "
            "measure again while nothing else runs",
            file=sys.stderr,
        )


def _spread(found: Iterable[Spread]) -> dict[str, float]:
    """How far the quartiles of the rounds are apart, as a share of their median."""
    shares = [(one.high - one.low) / one.median for one in found if one.median]
    return {"median": round(median(shares), 4), "largest": round(max(shares), 4)} if shares else {}
