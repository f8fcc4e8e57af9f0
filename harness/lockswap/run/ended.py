"""How a program's run ended, and whether anything follows from what was seen of it."""

import re
import signal
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lockswap.base.text import in_seconds
from lockswap.run import reached
from lockswap.run.signals import is_signal, signal_name

TIME_WAS_OVER = 124  # `timeout` exits with it
_NOT_EXECUTED, _NOT_FOUND = 126, 127  # as shells, `env` and the like have it
_MOST_LINES = 3
# What the loader says before it gives up.
_OF_LOADER = re.compile(r"^.*(?:error while loading shared libraries|symbol lookup error): .*$", re.MULTILINE)


@dataclass(frozen=True)
class Ended:
    """The end of one run of `command`."""

    command: list[str]
    status: int | None  # as subprocess has it: negative after a signal; None if it had not ended after `limit_s`
    limit_s: float | None = None
    stderr: str = ""  # where it is known
    seen: frozenset[str] | None = None  # names of the programs that ran; None if they are not known

    @property
    def shell_status(self) -> int:
        """128 + N after signal N."""
        assert self.status is not None
        return self.status if self.status >= 0 else 128 - self.status

    @property
    def is_never_started(self) -> bool:
        """Whether nothing ran but perhaps what should have started the program."""
        return self.status in (_NOT_EXECUTED, _NOT_FOUND) or bool(self.not_started)

    @cached_property
    def not_started(self) -> list[str]:
        """The programs of the command that their loader refused, a clause each."""
        lines = dict.fromkeys(line.strip() for line in _OF_LOADER.findall(self.stderr))
        said = [f"the loader said '{line}'" for line in lines][:_MOST_LINES]
        if self.seen is None and self.status != _NOT_FOUND and not said:
            return []  # a script may have set LD_LIBRARY_PATH
        return reached.missing(self.command, self.seen or ()) or said

    def in_words(self) -> str:
        """In a clause. Empty if it ended well."""
        if self.status is None:
            return (
                f"it had not ended after {in_seconds(self.limit_s)}" if self.limit_s is not None else "it did not end"
            )
        if self.not_started:
            return "; ".join(self.not_started)
        return how(self.status, self.command)


def how(status: int, command: list[str]) -> str:
    """How a run ended that had this status."""
    if status < 0:
        return f"it ended by {signal_name(-status)}"
    if status == 0:
        return ""
    text = f"it ended with exit status {status}"
    names = {Path(word).name for word in " ".join(command).split()}
    if status == TIME_WAS_OVER and "timeout" in names:
        return f"{text}: the time limit of `timeout` was over"
    if status == _NOT_EXECUTED:
        return f"{text}, which stands for a program that could not be executed"
    if status == _NOT_FOUND:
        return f"{text}, which stands for a program that was not found or that its loader gave up"
    if 128 < status <= 128 + signal.NSIG and is_signal(status - 128):
        return f"{text}, which stands for a program that ended by {signal_name(status - 128)}"
    return text
