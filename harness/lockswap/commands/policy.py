"""`lockswap policy`."""

from __future__ import annotations

import click

from lockswap.base.errors import UserError
from lockswap.campaign.headings import Group
from lockswap.commands import options
from lockswap.commands.options import PASS_ON, SETTINGS


@click.group(
    "policy", cls=Group, context_settings=SETTINGS, short_help="Swap some locks and leave the others to glibc."
)
def policy_group() -> None:
    """Check a policy: rules that swap some locks of a program and leave the others to glibc. See docs/diagnose.md."""


@policy_group.command("check", context_settings=PASS_ON, short_help="Run a program and show what each rule matched.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
@options.preload_first
@click.argument("rules", metavar="FILE|NAME|RULE")
@options.command
def policy_check_command(as_json: bool, preload_first: tuple[str, ...], rules: str, command: tuple[str, ...]) -> int:
    """Run a program with a policy, and show on stderr which locks each rule matched and where the program initialises
    them or first uses them. The exit status is the program's own.

    \b
    lockswap policy check rules.txt -- ./server --port 8080
    lockswap policy check 'module=libcrypto.so.3 rwlock=bravo-ba' -- openssl speed sha256
    lockswap policy check libcrypto -- openssl speed sha256     a policy that comes with lockswap

    Locks that no rule matched are listed too, with the call sites that a new rule can name.
    """
    from lockswap.base.paths import Paths
    from lockswap.policy import check

    words = list(command)
    if words[0] == "--":  # it stands behind FILE, so click takes it for the first word
        del words[0]
    if not words:
        raise UserError("give the command to run after '--'")
    return check.run(Paths.find(), rules, words, as_json, preload_first)
