"""Which words of the command line a shell completes, and with what.

It stands apart from the options, so that no command loads it: click needs it only while a shell asks.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress

import click
from click.shell_completion import CompletionItem

from lockswap.base.errors import UserError
from lockswap.shell import candidates as of
from lockswap.shell.candidates import Names

FILE, FOLDER = "file", "dir"  # click's words
Completer = Callable[[click.Context, str], list[CompletionItem]]

# What stands for the value of an option, or for an argument; where there is no name, it is a file or a folder.
VALUES: dict[str, tuple[Callable[[], Names] | str, ...]] = {
    "--rwlock": (of.rwlocks, of.no_lock),
    "--mutex": (of.mutexes, of.no_lock),
    "--range": (of.range_locks,),
    "--cond": (of.conds,),
    "--peer": (of.peers,),
    "--wait": (of.waits,),
    "--against": (of.choices,),
    "--scan": (of.settings,),
    "--workload": (of.all_workloads, of.workloads),
    "--machine": (of.machines, FILE),
    "--policy": (of.policies, FILE),
    "--validate": (FILE,),
    "--stop": (of.signals,),
    "--preload": (of.allocators, FILE),
    "--preload-first": (FILE,),
    "--resume": (of.interrupted, FOLDER),
    "--pid": (of.processes,),
    "PID": (of.processes,),
    "WORDS": (of.processes, FILE),
    "SUBJECT": (of.processes, FOLDER),
    "UNIT": (of.units,),
    "FILES": (FILE,),
    "FOLDERS": (of.campaigns, FOLDER),
    "CAMPAIGN": (of.campaigns, FOLDER),
    "COMMAND": (FILE,),
    "RULES": (of.policies, FILE),
    "NAME": (of.lists, of.rwlocks, of.mutexes, of.range_locks, of.variables, of.waits, of.workloads, of.figures),
    "FIGURE": (of.figures,),
}


def attach(command: click.Command) -> None:
    """Give the options and arguments of this command, and of those below it, their completions."""
    for parameter in command.params:
        if values := VALUES.get(key_of(parameter)):
            parameter.shell_complete = _completer(parameter, values)
    for below in command.commands.values() if isinstance(command, click.Group) else ():
        attach(below)


def key_of(parameter: click.Parameter) -> str:
    """The long name of an option, or the name of an argument in capitals."""
    if isinstance(parameter, click.Argument):
        return (parameter.name or "").upper()
    return max(parameter.opts, key=len)


def _completer(parameter: click.Parameter, values: Iterable[Callable[[], Names] | str]) -> Completer:
    kinds = [one for one in values if isinstance(one, str)]
    names = [one for one in values if not isinstance(one, str)]
    # An option that may be repeated takes several names with commas between.
    is_list = isinstance(parameter, click.Option) and parameter.multiple and not kinds

    def complete(_: click.Context, typed: str) -> list[CompletionItem]:
        before, comma, last = typed.rpartition(",") if is_list else ("", "", typed)
        found = _matching(names, last, before.split(","))
        items = [CompletionItem(before + comma + name, help=text or None) for name, text in found.items()]
        return items or [CompletionItem(typed, type=kind) for kind in kinds]

    return complete


def _matching(names: Iterable[Callable[[], Names]], typed: str, taken: list[str]) -> dict[str, str]:
    """Nothing is said of what is not built, or of a file that is damaged: the line is not finished."""
    found: dict[str, str] = {}
    for listed in names:
        with suppress(UserError, OSError):
            for name, text in listed():
                if name.startswith(typed) and name not in taken:
                    found.setdefault(name, text)
    return found
