"""`lockswap profile`."""

from __future__ import annotations

from pathlib import Path

import click

from lockswap.base.errors import UserError
from lockswap.commands import options
from lockswap.commands.options import PASS_ON, PID


@click.command("profile", context_settings=PASS_ON, short_help="Find the locks that threads wait for.")
@click.option("--top", type=click.IntRange(1), default=20, show_default=True, metavar="N", help="Show the top N locks.")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write profile.html, profile.json, stacks for pprof and speedscope, and a trace for Perfetto to DIR.",
)
@click.option("--pid", type=PID, metavar="PID", help="Profile a running process instead of a command.")
@click.option(
    "--seconds", type=click.FloatRange(0.1), metavar="S", help="With --pid: profile for S seconds.  [default: 10]"
)
@options.rwlock
@options.mutex
@options.preload_first
@click.option("--from", "folder", type=click.Path(path_type=Path), hidden=True)
@click.option("--diff", "both", nargs=2, type=click.Path(path_type=Path), hidden=True)
@click.option("--json", "as_json", is_flag=True, hidden=True)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- CMD...]")
def profile_command(
    top: int,
    out: Path | None,
    pid: int | None,
    seconds: float | None,
    rwlock: str | None,
    mutex: str | None,
    preload_first: tuple[str, ...],
    folder: Path | None,
    both: tuple[Path, Path] | None,
    as_json: bool,
    command: tuple[str, ...],
) -> int:
    """Run a program and show which of its locks make it slow: where threads waited for a lock, for how long, and where
    the thread that kept them waiting released it. The locks are glibc's own unless an option or the environment says
    otherwise. The exit status is the program's own.

    \b
    lockswap profile -- ./server --port 8080
    lockswap profile --top 5 -o hot -- ./prog       also write an HTML page to hot/
    lockswap profile --pid 4711 --seconds 10        a process that is running

    To profile without this command, start the program with LD_PRELOAD=liblockswap.so and LOCKSWAP_PROFILE=hot. Then
    'lockswap report hot' shows what was recorded, and 'lockswap report before after' compares two profiles.
    """
    from lockswap.base.paths import Paths
    from lockswap.profile import profile, sampled_report
    from lockswap.profile.attach import WithoutLockswapError

    if both or folder is not None:  # until 0.3
        if command or pid is not None or seconds is not None or rwlock or mutex or preload_first:
            raise UserError("to show profiles, use 'lockswap report DIR' or 'lockswap report BEFORE AFTER' alone")
        names = both or (folder,)
        old, new = "--diff BEFORE AFTER" if both else "--from DIR", "BEFORE AFTER" if both else "DIR"
        click.echo(f"lockswap: note: 'profile {old}' is now 'lockswap report {new}', and will go in 0.3", err=True)
        return profile.show(Paths.find(), names, out, top, as_json)
    if as_json:
        raise UserError("-o DIR writes the profile as profile.json")
    if pid is not None:
        if command or rwlock or mutex or preload_first:
            raise UserError("--pid profiles a running process, and takes no options but --seconds, --top and -o")
        try:
            return profile.watch(Paths.find(), pid, seconds or 10.0, top, out)
        except WithoutLockswapError:
            return sampled_report.watch(pid, seconds or 10.0, top, out)
    if seconds is not None:
        raise UserError("--seconds needs --pid; a command is profiled from start to end")
    if not command:
        raise UserError("give the command to run after '--', or a running process with --pid")
    return profile.run(Paths.find(), list(command), top, out, rwlock, mutex, preload_first)
