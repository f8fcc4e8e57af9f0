"""What a recipe's [server] table, or --server and its companions, say. run/server.py carries it out."""

import re
import signal
from dataclasses import dataclass


@dataclass(frozen=True)
class Server:
    """The program under test where the recipe's `command` is only its load."""

    command: tuple[str, ...]
    ready: str  # after the placeholders are filled: see Ready
    ready_timeout: float = 30.0
    stop: str = "TERM"
    stop_timeout: float = 10.0
    exit_status: int = 0

    @property
    def stop_signal(self) -> signal.Signals:
        return signal_of(self.stop)


@dataclass(frozen=True)
class Ready:
    """How one sees that a server is ready: a port ("tcp" or "udp"), or else a regex in what it prints."""

    protocol: str = ""
    port: int = 0
    regex: str = ""

    @classmethod
    def parse(cls, text: str) -> "Ready":
        """'8080' or 'tcp:8080', 'udp:5353', or a regex; ValueError says what is wrong."""
        match = re.fullmatch(r"(?:(tcp|udp):)?([0-9]+)", text)
        if match:
            if not 0 < int(match[2]) < 65_536:
                raise ValueError(f"'{text}' is not a port: choose one from 1 to 65535")
            return cls(match[1] or "tcp", int(match[2]))
        try:
            re.compile(text, re.MULTILINE)
        except re.error as error:
            raise ValueError(f"'{text}' is neither a port nor a regex: {error}") from None
        return cls(regex=text)

    def __str__(self) -> str:
        return f"{self.protocol.upper()} port {self.port}" if self.port else f"/{self.regex}/"


def signal_of(text: str) -> signal.Signals:
    """'TERM', 'SIGTERM' or '15'; ValueError says what is wrong."""
    try:
        if text.isdigit():
            return signal.Signals(int(text))
        return signal.Signals["SIG" + text.upper().removeprefix("SIG")]
    except (KeyError, ValueError):
        raise ValueError(f"there is no signal '{text}'; write it like TERM, INT or QUIT") from None
