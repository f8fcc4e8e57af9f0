"""`lockswap run`."""

from __future__ import annotations

import click

from lockswap.commands import options
from lockswap.commands.options import PASS_ON
from lockswap.run.stats_option import StatsOption, WithStats


@click.command("run", cls=WithStats, context_settings=PASS_ON, short_help="Run a program with another lock.")
@click.option("--rwlock", "-l", metavar="LOCK", help="Reader-writer lock; 'lockswap list' shows all. Default: glibc's.")
@click.option("--mutex", "-m", metavar="MUTEX", help="Mutex, with matching condition variables. Default: glibc's.")
@click.option(
    "--cond",
    metavar="own|pthread",
    help="Condition variables: 'own' (ours, even with glibc's mutexes) or 'pthread' (glibc's). Default: those that "
    "match the mutex.",
)
@click.option("--wait", metavar="HOW", help="How threads wait: spin, yield or park.  [default: park]")
@click.option(
    "--stats",
    cls=StatsOption,
    is_flag=False,
    flag_value="1",
    metavar="[FILE]",
    help="Count acquisitions and print them on stderr at the end, even after Ctrl-C. --stats=FILE writes JSON to "
    "FILE.<pid> instead.",
)
@click.option("--verbose", is_flag=True, help="Print on stderr which lock is used.")
@options.preload
@options.preload_first
@options.command
def run_command(
    rwlock: str | None,
    mutex: str | None,
    cond: str | None,
    wait: str | None,
    stats: str | None,
    verbose: bool,
    preload: tuple[str, ...],
    preload_first: tuple[str, ...],
    command: tuple[str, ...],
) -> None:
    """Run a program with another lock. The exit status is the program's own.

    \b
    lockswap run --rwlock bravo-ba -- ./server --port 8080
    lockswap run --mutex mcs -- ./prog              swap its mutexes
    lockswap run --rwlock ba --mutex mcs -- ./prog  swap both
    lockswap run --cond own -- ./prog               swap only its condition variables
    lockswap run --rwlock ba --stats -- ./prog      print counts at exit
    lockswap run --rwlock none -- ./prog            run it without lockswap
    lockswap run --rwlock pthread -- ./prog         run it with lockswap, but with glibc's lock
    """
    from lockswap.base.paths import Paths
    from lockswap.run.launch import run

    run(Paths.find(), list(command), rwlock, mutex, cond, wait, stats, verbose, preload, preload_first)
