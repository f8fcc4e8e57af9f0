"""`lockswap fuzz`."""

from __future__ import annotations

import click

from lockswap.base.duration import Duration
from lockswap.commands import options
from lockswap.commands.options import PASS_ON


@click.command("fuzz", context_settings=PASS_ON, short_help="Provoke races by delaying threads at lock calls.")
@click.option(
    "--seed", type=click.IntRange(0, 2**63 - 1), metavar="N", help="The first run's seed. Default: a random one."
)
@click.option(
    "--runs",
    type=click.IntRange(1),
    default=100,
    metavar="K",
    help="Number of runs, each with the next seed.  [default: 100]",
)
@click.option(
    "--again",
    type=click.IntRange(0),
    default=10,
    metavar="M",
    help="How often to run a failing seed again.  [default: 10]",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Count a run that takes longer than SECONDS as a hang. Default: a run hangs if it makes no progress, or if "
    "it takes at least 300 s and at least 20 times as long as a run without delays.",
)
@click.option("--same-output", is_flag=True, help="Also fail if stdout or status differ from those without delays.")
@click.option("--spurious", is_flag=True, help="Make waits for condition variables return spuriously.")
@click.option(
    "--percent",
    type=click.IntRange(1, 100),
    metavar="N",
    help="Percentage of the points around lock calls at which to perturb threads. Default: chosen from the seed.",
)
@click.option(
    "--delay",
    type=click.IntRange(1, 1_000_000),
    metavar="US",
    help="The longest delay in microseconds.  [default: 4000]",
)
@click.option(
    "--serial",
    is_flag=True,
    help="Instead of delays, run one thread at a time, in an order that the seed chooses and repeats.",
)
@click.option(
    "--budget",
    type=Duration("ms", "1ms", "1000s"),
    metavar="TIME",
    help="Delay a thread less and less often once its delays have cost TIME (such as 500ms).  [default: 300ms]",
)
@options.rwlock
@options.mutex
@options.preload
@options.preload_first
@click.option("--json", "as_json", is_flag=True, help="Report as JSON, on stdout.")
@options.command
def fuzz_command(delay: int | None, budget: float | None, command: tuple[str, ...], **chosen: object) -> int:
    """Run a program again and again, delaying its threads at lock calls in a different way each time, and stop at the
    first crash, hang or sanitizer report. The exit status is 3 if a run fails, and 0 if none does.

    \b
    lockswap fuzz -- ./prog
    lockswap fuzz --same-output --runs 500 -- ./prog    a changed output is a failure, too
    lockswap fuzz --seed 17 --runs 1 -- ./prog          repeat a seed
    lockswap fuzz --serial -- ./prog                    run one thread at a time, and show the failing order

    A seed repeats the delays of each thread, but not the scheduler's choices unless you add --serial.
    """
    from lockswap.base.paths import Paths
    from lockswap.fuzz import fuzz

    budget_ms = None if budget is None else round(budget)
    return fuzz.run(Paths.find(), fuzz.Request(command=list(command), delay_us=delay, budget_ms=budget_ms, **chosen))
