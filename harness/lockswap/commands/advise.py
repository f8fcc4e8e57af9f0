"""`lockswap advise`."""

from __future__ import annotations

from pathlib import Path

import click

from lockswap.commands import options
from lockswap.commands.options import PASS_ON


@click.command("advise", context_settings=PASS_ON, short_help="Try other locks for the slow ones, and write a policy.")
@options.metric
@options.better
@options.lower_is_better
@options.budget
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    default=Path("advised.policy"),
    show_default=True,
    metavar="FILE",
    help="Write the policy to FILE.",
)
@click.option("--server", metavar="'CMD'", help="Advise on a server: start this before each run of --load.")
@click.option(
    "--load",
    metavar="'CMD'",
    help="Run CMD to send requests to the server, and wait for it to exit. Its own locks are not swapped.",
)
@click.option(
    "--ready",
    metavar="REGEX|PORT",
    help="The server is ready when it prints REGEX, or listens on PORT. Default: {port}.",
)
@click.option("--stop", metavar="SIGNAL", help="Stop the server with SIGNAL. Default: TERM.")
@options.preload_first
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- CMD...]")
def advise_command(
    metric: str | None,
    lower_is_better: bool,
    budget: float,
    out: Path,
    preload_first: tuple[str, ...],
    command: tuple[str, ...],
    **served: str | None,
) -> int:
    """Find out which locks of a program to swap. It profiles the program, tries other locks where threads wait
    most, taking turns with glibc's, measures the best choice once more, and writes a policy if there is a gain.

    \b
    lockswap advise -- ./batch input
    lockswap advise --metric 'ops/s: ([0-9.]+)' --budget 5m -- ./bench --threads 8
    lockswap advise --server './server -p {port}' --load './load localhost:{port}' --metric 'requests/s: ([0-9.]+)'

    A command must end by itself and do the same work in each run. A server is started for each run, and the metric is
    read from what the load prints. See docs/diagnose.md.
    """
    from lockswap.advise import advise, subject
    from lockswap.base.paths import Paths

    paths = Paths.find()
    asked = subject.asked_for(paths.meter, list(command), **served)
    return advise.run(paths, asked, metric, lower_is_better, budget, out, preload_first)
