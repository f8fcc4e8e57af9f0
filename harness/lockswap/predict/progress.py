"""How far a measurement is, on stderr."""

import sys
import time

from lockswap.base.text import duration


class Progress:
    """How far it is, on a terminal again and again, elsewhere in a line now and then."""

    def __init__(self, of: int) -> None:
        self.of, self.began, self.said = of, time.monotonic(), time.monotonic()

    def done(self, count: int, what: str) -> None:
        now = time.monotonic()
        often = 0.2 if sys.stderr.isatty() else 20
        if now - self.said < often and count < self.of:
            return
        self.said = now
        left = duration((now - self.began) / count * (self.of - count))
        end = "\r" if sys.stderr.isatty() and count < self.of else "\n"
        print(f"lockswap: {count} of {self.of} {what}, {left} left   ", end=end, file=sys.stderr, flush=True)
