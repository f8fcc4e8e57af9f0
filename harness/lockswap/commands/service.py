"""`lockswap service`."""

from __future__ import annotations

from pathlib import Path

import click

from lockswap.campaign.headings import Group
from lockswap.commands import options
from lockswap.commands.options import SETTINGS


@click.group("service", cls=Group, context_settings=SETTINGS, short_help="Swap the locks of a systemd service.")
def service_group() -> None:
    """Swap the locks of a systemd service by a drop-in, a small file next to the unit's own. See docs/production.md."""


_user = click.option("--user", is_flag=True, help="Use the systemd user manager.")
_root = click.option(
    "--root",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Work on the unit files below DIR, for example in an image being built.",
)
_now = click.option("--now", is_flag=True, help="Also reload the manager, and restart the unit if it runs.")


@service_group.command("enable", context_settings=SETTINGS, short_help="Write the drop-in.")
@options.rwlock
@options.mutex
@click.option("--cond", metavar="own|pthread", help="Condition variables, as for 'lockswap run'.")
@click.option("--wait", metavar="HOW", help="How threads wait: spin, yield or park.  [default: park]")
@_user
@_root
@_now
@click.argument("unit", metavar="UNIT")
def service_enable_command(
    rwlock: str | None,
    mutex: str | None,
    cond: str | None,
    wait: str | None,
    user: bool,
    root: Path | None,
    now: bool,
    unit: str,
) -> int:
    """Write the file UNIT.d/50-lockswap.conf, which sets LD_PRELOAD and the locks, and show it. Libraries that the
    unit already preloads stay in the list. The exit status is 1 if a setting of the unit prevents the swap.

    \b
    lockswap service enable nginx --rwlock auto --mutex auto
    lockswap service enable nginx --rwlock auto --now
    """
    from lockswap.base.paths import Paths
    from lockswap.service import service

    paths = Paths.find()
    library = str(paths.library)
    manager = service.manager_of(user, root)
    return service.enable(
        manager, unit, library, lambda had: service.variables(paths, library, had, rwlock, mutex, cond, wait), now
    )


@service_group.command("disable", context_settings=SETTINGS, short_help="Remove the drop-in.")
@_user
@_root
@_now
@click.argument("unit", metavar="UNIT")
def service_disable_command(user: bool, root: Path | None, now: bool, unit: str) -> int:
    """Remove the file that 'enable' wrote, and its folder if nothing else is in there."""
    from lockswap.service import service

    return service.disable(service.manager_of(user, root), unit, now)


@service_group.command("status", context_settings=SETTINGS, short_help="Check the running service.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
@_user
@_root
@click.argument("unit", metavar="UNIT")
def service_status_command(as_json: bool, user: bool, root: Path | None, unit: str) -> int:
    """Say whether the drop-in is there, which settings of the unit prevent the swap, and what 'lockswap doctor' says
    about the service's main process. The exit status is the doctor's."""
    from lockswap.base.paths import Paths
    from lockswap.service import service

    return service.status(Paths.find(), service.manager_of(user, root), unit, as_json)
