"""`lockswap list`."""

from __future__ import annotations

import click

from lockswap.base.errors import UserError


@click.command("list", short_help="List locks, mutexes, workloads and variables.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, for scripts.")
@click.argument("name", required=False, metavar="[NAME|ranges|workloads|variables|waits|structures|papers]")
def list_command(as_json: bool, name: str | None) -> None:
    """List all locks and mutexes, or show everything about one of them.

    \b
    lockswap list                all locks and mutexes, a line each
    lockswap list cohort         one lock, mutex, range lock, variable or workload
    lockswap list workloads      also: ranges, variables, waits, structures, papers
    """
    from lockswap.base.paths import Paths
    from lockswap.listing import show

    if as_json and name:
        raise UserError(f"--json prints everything: drop '{name}'")
    show(Paths.find(), name, as_json)
