"""`lockswap record`."""

from __future__ import annotations

from pathlib import Path

import click

from lockswap.commands import options
from lockswap.commands.options import PASS_ON


@click.command("record", context_settings=PASS_ON, short_help="Record a program's lock calls, to replay them.")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    default=Path("lockswap-record"),
    show_default=True,
    metavar="DIR",
    help="A new folder for the records, one file for each process.",
)
@click.option(
    "--size",
    "megabytes",
    type=click.IntRange(1, 1024),
    default=64,
    show_default=True,
    metavar="MB",
    help="Stop recording a process when its file reaches MB megabytes (about 32,000 acquisitions per megabyte).",
)
@click.option(
    "--after",
    type=click.FloatRange(0, 86400),
    default=0.0,
    show_default=True,
    metavar="SECONDS",
    help="Begin to record SECONDS after the start of each process.",
)
@options.preload
@options.preload_first
@options.command
def record_command(
    out: Path,
    megabytes: int,
    after: float,
    preload: tuple[str, ...],
    preload_first: tuple[str, ...],
    command: tuple[str, ...],
) -> int:
    """Run a program on glibc's own locks, and record the lock calls of each thread: which lock, in which mode, for how
    long it was held, and how long the thread worked in between. From that, `lockswap predict --replay` estimates how
    fast the program would be with other locks, on a machine that you don't have. The exit status is the program's own.

    \b
    lockswap record -- ./prog
    lockswap record --after 5 --size 16 --out trace -- ./server --port 8080
    lockswap predict --replay trace --machine x5-2 --rwlock ba,bravo-ba

    See docs/predict.md for what is recorded, and what it costs.
    """
    from lockswap.base.paths import Paths
    from lockswap.predict import record

    return record.run(Paths.find(), list(command), out, megabytes, after, preload, preload_first)
