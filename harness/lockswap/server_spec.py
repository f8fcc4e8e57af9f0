"""What a recipe's [server] table, or --server and its companions, say. How it is carried out is in server.py."""

import re
import signal
from dataclasses import dataclass

from lockswap import ports
from lockswap.toml_table import Table


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
                raise ValueError(f"'{text}' is no port: they go from 1 to 65535")
            return cls(match[1] or "tcp", int(match[2]))
        try:
            re.compile(text, re.MULTILINE)
        except re.error as error:
            raise ValueError(f"'{text}' is neither a port nor a regex: {error}") from None
        return cls(regex=text)

    def taken(self) -> str | None:
        """Why it could not be seen whether the server is ready: somebody else uses its port."""
        if self.port and ports.used(self.port, self.protocol):
            return f"{self} is in use already by another program; write {{port}} for a free one"
        return None

    def holds(self, output: tuple[str, str]) -> bool:
        if self.port:
            return ports.used(self.port, self.protocol)
        return any(re.search(self.regex, text, re.MULTILINE) for text in output)

    def __str__(self) -> str:
        return f"{self.protocol.upper()} port {self.port}" if self.port else f"/{self.regex}/"


def signal_of(text: str) -> signal.Signals:
    """'TERM', 'SIGTERM' or '15'; ValueError says what is wrong."""
    try:
        if text.isdigit():
            return signal.Signals(int(text))
        return signal.Signals["SIG" + text.upper().removeprefix("SIG")]
    except (KeyError, ValueError):
        raise ValueError(f"there is no signal '{text}'; write it as TERM, INT or QUIT") from None


def read(table: Table) -> Server | None:
    """From a recipe's [server] table; None if it has none."""
    if not table.data:
        return None
    server = Server(
        command=tuple(table.list_of("command", str, required=True)),
        ready=table.take("ready", str, required=True),
        ready_timeout=table.take("ready_timeout", float, default=Server.ready_timeout),
        stop=table.take("stop", str, default=Server.stop),
        stop_timeout=table.take("stop_timeout", float, default=Server.stop_timeout),
        exit_status=table.take("exit_status", int, default=Server.exit_status),
    )
    table.done()
    if not server.command:
        table.fail("server.command", "is empty")
    for key in ("ready_timeout", "stop_timeout"):
        if getattr(server, key) <= 0:
            table.fail(f"server.{key}", "must be more than 0")
    try:
        server.stop_signal  # noqa: B018
    except ValueError as error:
        table.fail("server.stop", str(error))
    try:
        Ready.parse(server.ready.replace("{port}", "1"))
    except ValueError as error:
        table.fail("server.ready", str(error))
    return server
