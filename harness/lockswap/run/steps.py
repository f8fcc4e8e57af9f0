"""The steps of a run: programs that are started, waited for and ended. Ctrl-C is heard while waiting, never between."""

import contextlib
import math
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

_KEPT_OUTPUT = 16 << 20  # of a program that prints without end, the last so many bytes


class Interrupts:
    """Within, SIGINT, SIGTERM and SIGHUP are noted and become KeyboardInterrupt where a wait looks for them.

    So a program is either not started or known, and the cleanup is not cut short. A user that interrupts a second
    time does not want to wait for polite ends: waits of the cleanup are then over at once. Main thread only.
    """

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> "Interrupts":
        # A program inherits ignored signals, such as SIGINT of a job in the background, but no handled ones. So this
        # process goes on ignoring such a signal, but by a handler.
        self.before = {
            number: signal.signal(number, _ignore if now is signal.SIG_IGN else self._note)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            if (now := signal.getsignal(number)) is not None
        }
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)
        if kind is None:
            self.check()

    def _note(self, *_: object) -> None:
        self.count += 1

    def check(self) -> None:
        if self.count:
            raise KeyboardInterrupt

    def wait(self, condition: Callable[[], bool], limit: float) -> bool:
        """Wait for `condition`; False at the limit; an interrupt is raised."""
        return self._wait(condition, limit, None)

    def wait_tidily(self, condition: Callable[[], bool], limit: float, hurried: float = math.inf) -> bool:
        """The same during the cleanup: an interrupt only shortens what is left to `hurried`, a second one ends it."""
        return self._wait(condition, limit, hurried)

    def _wait(self, condition: Callable[[], bool], limit: float, hurried: float | None) -> bool:
        deadline, pause = time.monotonic() + limit, 0.001
        while not condition():
            if hurried is None:
                self.check()
            now = time.monotonic()
            if self.count:
                deadline = min(deadline, now + hurried) if self.count == 1 else now
            if now >= deadline:
                return False
            time.sleep(min(pause, deadline - now))
            pause = min(2 * pause, 0.05)
        return True


@dataclass(frozen=True)
class Run:
    """What the steps of one run share."""

    folder: Path  # for files of the harness
    cwd: Path
    env: Mapping[str, str]
    limit: float  # seconds for the program, or the load of a server
    interrupts: Interrupts


@dataclass
class Program:
    """A started program; its output goes to files: a pipe would slow a talkative one down, and a left-over child
    would hold it open."""

    child: subprocess.Popen
    stdout: Path
    stderr: Path

    @classmethod
    def start(cls, line: list[str], cwd: Path, env: Mapping[str, str], folder: Path, name: str) -> "Program":
        """OSError if it cannot be started. Its group and session are its own."""
        stdout, stderr = folder / f"{name}.stdout", folder / f"{name}.stderr"
        with stdout.open("wb") as out, stderr.open("wb") as err:
            child = subprocess.Popen(
                line, cwd=cwd, env=dict(env), stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
            )
        return cls(child, stdout, stderr)

    def ended(self) -> bool:
        return self.child.poll() is not None

    def output(self) -> tuple[str, str]:
        """Its stdout and stderr."""
        return _tail(self.stdout), _tail(self.stderr)

    def last_line(self) -> str:
        """The line that most likely says what went wrong, with a colon before it; nothing if it was silent."""
        for text in reversed(self.output()):
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            if lines:
                return f": {lines[-1][:200]}"
        return ""

    def end(self, interrupts: Interrupts) -> None:
        """End it, and whatever it started that is still in its process group; asked first, then forced."""
        for number, patience in ((signal.SIGTERM, 2.0), (signal.SIGKILL, 5.0)):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.child.pid, number)
            interrupts.wait_tidily(self.ended, patience)
        self.child.wait()


def _ignore(*_: object) -> None:
    pass


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _KEPT_OUTPUT))
        return file.read().decode("utf-8", "replace")
