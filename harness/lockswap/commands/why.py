"""`lockswap why`."""

from __future__ import annotations

import click

from lockswap.commands.options import PID, SETTINGS


@click.command("why", context_settings=SETTINGS, short_help="Show which thread holds the lock that others wait for.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
@click.option(
    "--current", "with_current", is_flag=True, help="Also show where threads are now. This uses gdb, which stops them."
)
@click.argument("pid", type=PID, metavar="PID")
def why_command(as_json: bool, with_current: bool, pid: int) -> int:
    """Show why a program hangs: which thread holds which lock, which threads wait for it, since when and where, and
    whether they wait for each other in a cycle.

    \b
    lockswap why 4711
    lockswap why $(pidof server)

    It doesn't stop a program that was started with `lockswap profile` or LOCKSWAP_PROFILE, and works even if the
    program no longer responds. For any other program the locks are read from its memory: you must own it or be root,
    and the kernel must allow it. Threads that hold a lock for reading are then not shown.
    """
    from lockswap.base.paths import Paths
    from lockswap.profile import why

    return why.run(Paths.find(), pid, as_json, with_current)
