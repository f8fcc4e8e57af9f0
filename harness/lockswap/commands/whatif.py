"""`lockswap whatif`."""

from __future__ import annotations

import click

from lockswap.commands import options
from lockswap.commands.options import PASS_ON


@click.command("whatif", context_settings=PASS_ON, short_help="Estimate what each lock costs, before you change it.")
@options.metric
@options.better
@options.lower_is_better
@click.option(
    "--lock",
    "names",
    multiple=True,
    metavar="NAME",
    help="Only locks whose name, as 'lockswap profile' prints it, contains NAME. Repeatable.",
)
@click.option(
    "--mode",
    type=click.Choice(["both", "read", "write"]),
    default="both",
    show_default=True,
    help="Which holds of reader-writer locks to lengthen; 'read' and 'write' exclude mutexes.",
)
@click.option("--top", type=click.IntRange(1), default=5, show_default=True, metavar="N", help="Try at most N locks.")
@click.option(
    "--delay",
    "delay_us",
    type=click.FloatRange(0.2, 1_000_000),
    metavar="US",
    help="The longer of the two delays. Default: half a run, divided by the lock's holds.",
)
@options.budget
@options.preload_first
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
@options.command
def whatif_command(command: tuple[str, ...], **chosen: object) -> int:
    """Find out what each lock costs a program, before you change anything. It lengthens the holds of one lock at a
    time, compares that with the same delay after the release, and ranks the locks by how much the program slows down.

    \b
    lockswap whatif -- ./batch input
    lockswap whatif --metric 'ops/s: ([0-9.]+)' --budget 5m -- ./bench --threads 8
    lockswap whatif --lock cache_lock --mode read -- ./batch input

    The program must end by itself and do the same work in each run. See docs/diagnose.md.
    """
    from lockswap.base.paths import Paths
    from lockswap.whatif import whatif

    return whatif.run(Paths.find(), whatif.Request(command=list(command), **chosen))
