"""`lockswap completion`: the scripts by which shells ask for completions. They are click's, repaired in two places."""

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete, add_completion_class

from lockswap.shell import VARIABLE

NAME = "lockswap"


class _Bash(BashComplete):
    """For bash, '--rwlock=ba' is three words."""

    def get_completion_args(self) -> tuple[list[str], str]:
        words, typed = super().get_completion_args()
        return [word for word in words if word != "="], typed


class _Fish(FishComplete):
    """click's script takes a comma in a completion for its end."""

    source_template = FishComplete.source_template.replace('string split ","', 'string split -m 1 ","')


SHELLS: dict[str, type[ShellComplete]] = {"bash": _Bash, "zsh": ZshComplete, "fish": _Fish}


def script(command: click.Command, shell: str) -> str:
    """The script; no shell is started to find out its version."""
    return ShellComplete.source(SHELLS[shell](command, {}, NAME, VARIABLE))


def answer() -> None:
    """Have click answer as the scripts ask."""
    for shell in SHELLS.values():
        add_completion_class(shell)
