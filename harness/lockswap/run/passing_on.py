"""Signals for a program that this process waits for."""

import contextlib
import signal
import subprocess
from collections.abc import Iterator


@contextlib.contextmanager
def passing_on(child: subprocess.Popen) -> Iterator[None]:
    """Ctrl-C reaches the program by itself, SIGTERM and SIGHUP through us; the report comes in any case."""

    def pass_on(number: int, _: object) -> None:
        child.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGTERM, signal.SIGHUP)}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
