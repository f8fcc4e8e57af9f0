"""`lockswap machine`."""

from __future__ import annotations

from pathlib import Path

import click

from lockswap.commands.options import SETTINGS


@click.command("machine", context_settings=SETTINGS, short_help="Measure this machine for 'lockswap predict'.")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    default=Path("machine.toml"),
    show_default=True,
    metavar="FILE",
    help="Write to FILE.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0.01),
    metavar="S",
    help="Measure latencies for about S seconds. Default: 0.2 per pair of processors, but at least 1 and at most 60.",
)
def machine_command(out: Path, seconds: float | None) -> int:
    """Measure this machine, and write a small file with which 'lockswap predict --machine FILE' can model it anywhere.
    The file has the latency between each pair of processors, the topology, and the cost of atomic operations and
    uncontended locks.

    \b
    lockswap machine
    lockswap machine --out epyc.toml
    taskset -c 0-15 lockswap machine

    Only processors that this process may use are measured. The file names neither the machine nor a user. Measure while
    nothing else runs.
    """
    from lockswap.base.paths import Paths
    from lockswap.predict import machine_file

    return machine_file.run(Paths.find(), out, seconds)
