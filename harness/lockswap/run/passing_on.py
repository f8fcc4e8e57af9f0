"""Signals for a program that this process starts and waits for.

While Popen starts the program, nobody knows its number yet. A signal that ended this process then would leave the
program behind, so signals wait until Popen has returned.
"""

import contextlib
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence

from lockswap.base.errors import Stopped, UserError
from lockswap.run import program


class Passed:
    """The program, and which signal came last while it ran."""

    def __init__(self) -> None:
        self.number: int | None = None
        self._child: subprocess.Popen | None = None

    def start(self, command: Sequence[str], path: str | None = None, **options) -> subprocess.Popen:
        """Options as those of Popen; `path` is the file of the program."""
        child = start(command, path, **options)
        # Python runs no handler within this assignment, so a signal is sent either below or by the handler.
        came, self._child = self.number, child
        # Ctrl-C, too: it may have come before the program was there.
        if came is not None:
            child.send_signal(came)
        return child

    def check(self) -> None:
        """Ends the command if there was one, where the program is not all that it has to do."""
        if self.number == signal.SIGINT:
            raise KeyboardInterrupt
        if self.number is not None:
            raise Stopped(self.number)

    def _pass_on(self, number: int) -> None:
        self.number = number
        if self._child is not None and number != signal.SIGINT:
            self._child.send_signal(number)


@contextlib.contextmanager
def passing_on() -> Iterator[Passed]:
    """Ctrl-C reaches the program by itself, SIGTERM and SIGHUP through us; the report comes in any case."""
    passed = Passed()
    with _handling(passed._pass_on):
        yield passed


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Holds signals back until the end of the block, when the program that it starts is known."""
    came: list[int] = []
    try:
        with _handling(came.append):
            yield
    finally:
        for number in came:
            signal.raise_signal(number)


def start(command: Sequence[str], path: str | None = None, **options) -> subprocess.Popen:
    """What cannot be started is a UserError."""
    try:
        return subprocess.Popen(command, executable=path, **options)
    except OSError as error:
        raise UserError(program.cannot_start(command[0], path or command[0], error)) from error


def run(path: str, command: list[str], env: Mapping[str, str]) -> subprocess.Popen:
    """The program, which has ended."""
    with passing_on() as passed:
        child = passed.start(command, path, env=env)
        child.wait()
    return child


@contextlib.contextmanager
def _handling(handle: Callable[[int], None]) -> Iterator[None]:
    # What is ignored stays so, as SIGINT is in a job in the background.
    before = {
        number: signal.signal(number, lambda came, _: handle(came))
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
