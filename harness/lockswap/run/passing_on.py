"""Signals for a program that this process waits for."""

import contextlib
import signal
import subprocess
from collections.abc import Iterator, Mapping

from lockswap.base.errors import Stopped, UserError
from lockswap.run import program


class Passed:
    """Which signal came last while the program ran."""

    number: int | None = None

    def check(self) -> None:
        """Ends the command if there was one, where the program is not all that it has to do."""
        if self.number == signal.SIGINT:
            raise KeyboardInterrupt
        if self.number is not None:
            raise Stopped(self.number)


@contextlib.contextmanager
def passing_on(child: subprocess.Popen) -> Iterator[Passed]:
    """Ctrl-C reaches the program by itself, SIGTERM and SIGHUP through us; the report comes in any case."""
    passed = Passed()

    def pass_on(number: int, _: object) -> None:
        passed.number = number
        if number != signal.SIGINT:
            child.send_signal(number)

    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    # What is ignored stays so, as SIGINT is in a job in the background.
    before = {
        number: signal.signal(number, pass_on) for number in numbers if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield passed
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run(path: str, command: list[str], env: Mapping[str, str]) -> subprocess.Popen:
    """The program, which has ended."""
    try:
        child = subprocess.Popen(command, executable=path, env=env)
    except OSError as error:
        raise UserError(program.cannot_start(command[0], path, error)) from error
    with passing_on(child):
        child.wait()
    return child
