"""`lockswap off`."""

from __future__ import annotations

import click

from lockswap.commands.options import PID, SETTINGS


@click.command("off", context_settings=SETTINGS, short_help="Make a running program use glibc's locks from now on.")
@click.argument("pid", type=PID, metavar="PID")
def off_command(pid: int) -> int:
    """Switch lockswap off in a running process: locks that are first used from now on are glibc's. Locks in use stay as
    they are until they are destroyed or initialised again. Condition variables stay lockswap's, because they work with
    both kinds of mutexes. Only exec or a restart switches lockswap on again.

    \b
    lockswap off 4711

    You must own the process or be root, and the kernel must let you trace it. See docs/production.md.
    """
    from lockswap.base.paths import Paths
    from lockswap.doctor import off

    return off.run(Paths.find(), pid)
