"""The processes that a run brings into the world: found and ended, whatever they did to get away."""

import contextlib
import ctypes
import os
import signal
import time
from dataclasses import dataclass, field

_PR_SET_CHILD_SUBREAPER = 36
_WALL = 0x40000000  # clones that announce their end by no SIGCHLD, too


@dataclass(frozen=True)
class Process:
    pid: int
    started: int  # in clock ticks since boot: a number that is used again is another process
    name: str = field(default="", compare=False)  # exec changes it

    def send(self, number: int) -> None:
        """Send a signal, if it is still this process; it is no error if the process has ended."""
        seen = _stat(self.pid)
        if seen is not None and seen.process.started == self.started:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, number)


@dataclass(frozen=True)
class _Seen:
    process: Process
    parent: int
    zombie: bool


def _stat(pid: int | str) -> _Seen | None:
    # Without pathlib and a text's buffers: these are read of all processes, several times a run.
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:  # noqa: PTH123
            text = file.read().decode(errors="replace")
    except OSError:
        return None
    # The name stands in parentheses and may itself contain some.
    name, rest = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
    return _Seen(Process(int(pid), int(rest[19]), name), int(rest[1]), rest[0] in "ZX")


def _has_children() -> bool:
    """Whether this process has any, running or not waited for."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT | _WALL)
    except ChildProcessError:
        return False
    return True


def _descendants() -> list[_Seen]:
    # A run that left nothing behind is the usual case, and /proc has all processes of the machine. Who has no
    # children has no descendants either: orphans become those of an ancestor.
    if not _has_children():
        return []
    numbers = filter(str.isdecimal, os.listdir("/proc"))  # noqa: PTH208
    everyone = {seen.process.pid: seen for number in numbers if (seen := _stat(number))}
    ours, found = {os.getpid()}, []
    # A child may have a smaller number than its parent: go on until none is added.
    while True:
        more = [seen for pid, seen in everyone.items() if seen.parent in ours and pid not in ours]
        if not more:
            return found
        ours |= {seen.process.pid for seen in more}
        found += more


class Brood:
    """All descendants of this process that came after it was made, also those whose parents have ended.

    For these, this process becomes the parent of orphans ("child subreaper", Linux 3.4).
    """

    def __init__(self) -> None:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.before = {seen.process for seen in _descendants()}

    def __enter__(self) -> "Brood":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def alive(self) -> list[Process]:
        return [seen.process for seen in _descendants() if not seen.zombie and seen.process not in self.before]

    def end(self, patience_s: float = 5.0) -> list[Process]:
        """Kill all of them; returns those that were there. The caller must have waited for its own programs before."""
        found = alive = self.alive()
        deadline = time.monotonic() + patience_s
        while alive and time.monotonic() < deadline:
            # Again and again: one that is being killed may still fork.
            for process in alive:
                process.send(signal.SIGKILL)
            time.sleep(0.005)
            self._bury()
            alive = self.alive()
        self._bury()
        return found

    def _bury(self) -> None:
        """Orphans became our children: what is dead of them waits for us."""
        for seen in _descendants():
            if seen.zombie and seen.parent == os.getpid() and seen.process not in self.before:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(seen.process.pid, os.WNOHANG)
