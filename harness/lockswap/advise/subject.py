"""What a trial runs: a command that ends by itself, or a server under a load that does."""

import os
import resource
import shlex
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lockswap.advise.ran import Failed, Ran, Subject
from lockswap.base.errors import UserError
from lockswap.recipes.server import Ready, Server, signal_of
from lockswap.run import ports, program, usage
from lockswap.run.passing_on import passing_on
from lockswap.run.processes import Brood
from lockswap.run.server import serve
from lockswap.run.signals import signal_name
from lockswap.run.steps import Interrupts, Run

# After so long a load counts as hung.
_LOAD_LIMIT_S = 3600.0


@dataclass(frozen=True)
class Command:
    words: list[str]

    def run(self, env: Mapping[str, str], swap: Mapping[str, str]) -> Ran:
        path = program.resolve(self.words[0])
        # A file, since a pipe that nobody empties would stop the program.
        with tempfile.TemporaryFile(prefix="lockswap-advise-") as output:
            before, begin = _cpu_s(), time.monotonic()
            with passing_on() as passed:
                child = passed.start(
                    self.words,
                    path,
                    env={**env, **swap},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                )
                status = child.wait()
            passed.check()
            wall, cpu = time.monotonic() - begin, _cpu_s() - before
            output.seek(0)
            text = output.read().decode(errors="replace")
        if status != 0:
            raise Failed(f"the program ended with status {status}: {_last_line(text)}")
        return Ran(text, "", wall, cpu)


@dataclass(frozen=True)
class ServerUnderLoad:
    """The server starts anew for each run. `{port}` in either command is a free one."""

    meter: Path  # lockswap-meter
    server: Server
    load: list[str]

    @property
    def words(self) -> list[str]:
        return list(self.server.command)

    def run(self, env: Mapping[str, str], swap: Mapping[str, str]) -> Ran:
        port = ports.free()
        meter, variables = str(self.meter), [f"{key}={value}" for key, value in swap.items()]
        server = [_with_port(word, port) for word in self.server.command]
        load = [_with_port(word, port) for word in self.load]
        ready = Ready.parse(_with_port(self.server.ready, port))
        without_preload = {key: value for key, value in env.items() if key != "LD_PRELOAD" or not swap}
        scratch = tempfile.TemporaryDirectory(prefix="lockswap-advise-", ignore_cleanup_errors=True)
        with Interrupts() as interrupts, scratch as name, Brood():
            folder = Path(name)
            under = [meter, "with", *variables, "--"] if swap else []
            line = [meter, "guard", str(os.getpid()), meter, "run", str(folder / "meter"), *under, *server]
            served = serve(
                Run(folder, Path.cwd(), env, _LOAD_LIMIT_S, interrupts),
                self.server,
                ready,
                line,
                [meter, "run", str(folder / "load-meter"), *load],
                without_preload,
            )
            of_server, of_load = usage.of(folder / "meter"), usage.of(folder / "load-meter")
        if served.problem:
            raise Failed(served.problem.detail)
        text = "\n".join(served.load_output)
        if "signal" in of_load:
            raise Failed(f"the load died by {signal_name(of_load['signal'])}")
        if of_load.get("exit", 1) != 0:
            raise Failed(f"the load ended with status {of_load.get('exit', 1):.0f}: {_last_line(text)}")
        return Ran(text, served.server_output, of_load["wall_s"], of_server["cpu_s"])


def asked_for(
    meter: Path, command: list[str], server: str | None, load: str | None, ready: str | None, stop: str | None
) -> Subject:
    """By the arguments of `advise`. What does not fit together is a UserError."""
    if server is None:
        for option, value in (("load", load), ("ready", ready), ("stop", stop)):
            if value is not None:
                raise UserError(f"--{option} needs --server, the command that starts a server")
        if not command:
            raise UserError("give the command to run after '--', or --server and --load")
        return Command(command)
    if command:
        raise UserError("give either --server with --load, or a command after '--', not both")
    if load is None:
        raise UserError("--server needs --load, the command that makes requests to it and ends")
    if ready is None and "{port}" not in server:
        raise UserError("--server needs --ready: a port, udp:PORT, or a regex that it prints when it is ready")
    spec = Server(tuple(_words("server", server)), ready or "{port}", stop=stop or Server.stop)
    for option, check, text in (("ready", Ready.parse, _with_port(spec.ready, 1)), ("stop", signal_of, spec.stop)):
        try:
            check(text)
        except ValueError as error:
            raise UserError(f"--{option}: {error}") from None
    return ServerUnderLoad(meter, spec, _words("load", load))


def _words(option: str, line: str) -> list[str]:
    """A command of one argument, split as a shell does; its program by a path that holds everywhere."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UserError(f"--{option} '{line}': {error}") from None
    if not words:
        raise UserError(f"--{option}: it is empty; give the command")
    path = program.absolute(words[0])
    return [path, *words[1:]] if "/" in words[0] else words


def _with_port(text: str, port: int) -> str:
    return text.replace("{port}", str(port))


def _last_line(text: str) -> str:
    last = next((line for line in reversed(text.splitlines()) if line.strip()), "it said nothing")
    return last.strip()[:200]


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
