"""Child processes that a signal ended, by the word of those that waited for them (interpose/children.h)."""

import signal
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lockswap.base.text import words
from lockswap.run.signals import signal_name

SUFFIX = ".children"
_CRASHES = {"SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS"}
_SHOWN = 3


@dataclass(frozen=True)
class Child:
    pid: int  # 0: not known
    parent: int
    parent_name: str
    signal: int
    name: str = ""  # "": not known

    @property
    def is_crash(self) -> bool:
        """Other signals are what programs send to each other, and to pipes."""
        return self.signal in [getattr(signal, name) for name in _CRASHES]

    def __str__(self) -> str:
        if self.name:
            return f"{self.name} ({self.pid})"
        who = f"process {self.pid}, a child" if self.pid else "a child"
        return f"{who} of {self.parent_name} ({self.parent}),"


def file_of(prefix: Path) -> Path:
    return prefix.with_name(prefix.name + SUFFIX)


def read(prefix: Path, processes: Iterable[dict] = ()) -> list[Child]:
    """`processes`: their records, by which a child has a name."""
    try:
        lines = file_of(prefix).read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return []
    # The last record of a number is the program that it became, or the last process that had it.
    names = {(one["pid"], one["parent"]): one["program"] for one in processes}
    found = []
    for parent, pid, number, name in (line.split(" ", 3) for line in lines if line.count(" ") > 2):
        who = names.get((int(pid), int(parent)), "")
        found.append(Child(int(pid), int(parent), name, int(number), who))
    return found


def crashes(children: Iterable[Child]) -> list[Child]:
    return [one for one in children if one.is_crash]


def in_words(children: list[Child]) -> str:
    """In a clause, how they ended. Empty if there are none."""
    said = [f"{one} ended by {signal_name(one.signal)}" for one in children[:_SHOWN]]
    more = len(children) - _SHOWN
    return words([*said, *([f"{more} more by such signals"] if more > 0 else [])])


def counted(children: Iterable[Child]) -> str:
    """How many ended by each signal."""
    return words(f"{times} by {signal_name(number)}" for number, times in Counter(c.signal for c in children).items())
