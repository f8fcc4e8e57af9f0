"""`lockswap top`."""

from __future__ import annotations

import click

from lockswap.commands.options import PID, SETTINGS


@click.command("top", context_settings=SETTINGS, short_help="Watch the locks of a running program, like top(1).")
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, metavar="N", help="Show the top N locks.")
@click.option(
    "--interval",
    type=click.FloatRange(0.1),
    default=1.0,
    show_default=True,
    metavar="S",
    help="Seconds between two tables.",
)
@click.option(
    "--count", type=click.IntRange(1), metavar="N", help="End after N tables. Default: when the program ends."
)
@click.argument("pid", type=PID, metavar="PID")
def top_command(top: int, interval: float, count: int | None, pid: int) -> int:
    """Show every second which locks a running program's threads wait for, and where they are released. If the program
    was started with `lockswap profile`, or with LOCKSWAP_PROFILE, all its lock calls are counted. With
    LOCKSWAP_METRICS, the table is made from those counts. Any other program is sampled from outside, as by `lockswap
    profile --pid`.

    \b
    lockswap top 4711
    lockswap top --count 1 --interval 10 4711
    """
    from lockswap.base.paths import Paths
    from lockswap.metrics import top as counted_top
    from lockswap.profile import sampled_report
    from lockswap.profile import top as live_top
    from lockswap.profile.attach import WithoutLockswapError

    if counted_top.counts(pid):
        return counted_top.run(pid, top, interval, count)
    try:
        return live_top.run(Paths.find(), pid, top, interval, count)
    except WithoutLockswapError:
        return sampled_report.each_second(pid, top, interval, count)
