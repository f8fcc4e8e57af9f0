"""Options and checks that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from lockswap.base.duration import Duration
from lockswap.base.errors import FIND, UserError
from lockswap.campaign import request
from lockswap.campaign.headings import HeadedOption

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
PASS_ON = {"ignore_unknown_options": False, "allow_interspersed_args": False}


class _Pid(click.IntRange):
    """A process id. The error for anything else says how to find one, because people often give a name."""

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            raise UserError(f"'{value}' is not a process id; {FIND}") from None


PID = _Pid(1)

# Options and arguments of several commands.
preload = click.option("--preload", multiple=True, metavar="LIB", help=f"{request.PRELOAD_HELP} Repeatable.")
preload_first = click.option(
    "--preload-first", multiple=True, metavar="LIB", help=f"{request.PRELOAD_FIRST_HELP} Repeatable."
)
rwlock = click.option("--rwlock", "-l", metavar="LOCK", help="Run with this reader-writer lock. Default: glibc's.")
mutex = click.option("--mutex", "-m", metavar="MUTEX", help="Run with this mutex. Default: glibc's.")
metric = click.option(
    "--metric",
    metavar="REGEX",
    help="Judge a run by the number in its output that the parentheses in REGEX capture (the last match counts). "
    "Default: its time.",
)


def _lower(context: click.Context, _: click.Parameter, better: str) -> bool:
    return better == "lower" or context.meta.get("lower", False)


def _remember_lower(context: click.Context, _: click.Parameter, given: bool) -> None:
    context.meta["lower"] = given


better = click.option(
    "--better",
    "lower_is_better",
    type=click.Choice(["higher", "lower"]),
    default="higher",
    show_default=True,
    callback=_lower,
    help="Whether a higher or a lower --metric is better.",
)
lower_is_better = click.option(  # the old form of --better
    "--lower-is-better",
    "is_lower",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_remember_lower,
    hidden=True,
)
budget = click.option(
    "--budget",
    type=Duration("s", "1s", "24h"),
    default="2m",
    show_default=True,
    metavar="TIME",
    help="How long the experiment may take (such as 300s or 5m); it makes at least six rounds in any case.",
)


def resume(what: str) -> Callable:
    """--resume, for `what` is measured."""
    return click.option(
        "--resume",
        cls=HeadedOption,
        heading=request.RECORDS,
        type=click.Path(path_type=Path),
        metavar="DIR",
        help=f"Continue an interrupted {what}.",
    )


command = click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- CMD...")


def nothing_beside_resume(options: dict[str, object]) -> None:
    for parameter in given_parameters():
        # A cluster's address may have changed.
        if parameter.name in options and parameter.name != "scheduler":
            what = parameter.opts[0] if isinstance(parameter, click.Option) else f"the {parameter.name}"
            raise UserError(f"--resume takes its settings from the campaign: drop {what}")


def given_parameters() -> list[click.Parameter]:
    """The parameters given on the command line, in the order of the help."""
    context = click.get_current_context()
    return [
        parameter
        for parameter in context.command.params
        if context.get_parameter_source(parameter.name) is click.core.ParameterSource.COMMANDLINE
        # click before 8.2 reports COMMANDLINE also for an argument that wasn't given.
        and context.params.get(parameter.name, ()) not in ((), None)
    ]
