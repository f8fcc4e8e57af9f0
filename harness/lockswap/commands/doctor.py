"""`lockswap doctor`."""

from __future__ import annotations

import click

from lockswap.commands.options import PASS_ON


@click.command("doctor", context_settings=PASS_ON, short_help="Check whether locks can be swapped here.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[PID | -- CMD...]")
def doctor_command(as_json: bool, words: tuple[str, ...]) -> int:
    """Check whether locks can be swapped here, in one line per check that says what to do if not. Without an argument
    it checks the machine. With a command it also checks the command's files, without starting it. For a running process
    it says whether lockswap is loaded, which lock it uses and since when, and what bypasses it.

    \b
    lockswap doctor
    lockswap doctor -- ./server --port 8080
    lockswap doctor 4711

    A line begins with 'ok', with 'note' if it is worth knowing, or with 'stops' if it prevents a swap.

    \b
    Exit status:
      0    nothing stops a swap
      1    something does
      2    bad input
    """
    from lockswap.base.paths import Paths
    from lockswap.doctor import doctor

    return doctor.run(Paths.find(), list(words), as_json)
