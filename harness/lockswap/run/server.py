"""A run of a server under load: started, waited for until it is ready, loaded, stopped. Nothing of it stays behind."""

import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass

from lockswap.base.text import in_seconds, words
from lockswap.recipes.server import Ready, Server
from lockswap.records.status import CRASHED, FAILED, HUNG, SKIPPED
from lockswap.run import ports, usage
from lockswap.run.processes import Brood
from lockswap.run.signals import signal_name
from lockswap.run.steps import Program, Run

# An interrupted campaign does not wait as long for a polite end.
_HURRIED_STOP_S = 2.0
# Workers may need a moment longer than the process that asked them to end.
_WORKERS_STOP_S = 2.0


@dataclass(frozen=True)
class Problem:
    """Why the run does not count: a status of outcome.py and a line."""

    status: str
    detail: str


@dataclass
class Served:
    problem: Problem | None = None
    server_output: str = ""
    load_output: tuple[str, str] = ("", "")


def serve(
    run: Run, spec: Server, ready: Ready, server_line: list[str], load_line: list[str], server_env: Mapping[str, str]
) -> Served:
    """`server_line` and `load_line` run under lockswap-meter, which writes FOLDER/meter and FOLDER/load-meter."""
    taken = _taken(ready)
    if taken:
        return Served(Problem(SKIPPED, taken))
    brood = Brood()
    try:
        program = Program.start(server_line, run.cwd, server_env, run.folder, "server")
    except OSError as error:
        return Served(Problem(FAILED, f"the server cannot start: {error}"))
    server = _RunningServer(run, spec, program, brood)
    served = Served()
    try:
        served.problem = server.wait_until(ready)
        if served.problem is None:
            served.problem, served.load_output = _load(run, server, load_line)
    finally:
        problem = server.stop()
    served.problem = served.problem or problem
    served.server_output = "\n".join(program.output())
    return served


def _taken(ready: Ready) -> str | None:
    """Why it could not be seen whether the server is ready: another process uses its port."""
    if ready.port and ports.used(ready.port, ready.protocol):
        return f"{ready} is in use already by another program; write {{port}} for a free one"
    return None


def _holds(ready: Ready, output: tuple[str, str]) -> bool:
    """Whether the server, which printed `output`, is ready."""
    if ready.port:
        return ports.used(ready.port, ready.protocol)
    return any(re.search(ready.regex, text, re.MULTILINE) for text in output)


def _load(run: Run, server: "_RunningServer", line: list[str]) -> tuple[Problem | None, tuple[str, str]]:
    try:
        load = Program.start(line, run.cwd, run.env, run.folder, "load")
    except OSError as error:
        return Problem(FAILED, f"the load cannot start: {error}"), ("", "")
    problem = None
    try:
        in_time = run.interrupts.wait(lambda: load.ended() or server.program.ended(), run.limit)
        if server.program.ended():
            problem = server.how_it_ended("during the load")
        elif not in_time:
            problem = Problem(HUNG, f"the load was still running after {in_seconds(run.limit)}")
    finally:
        load.end(run.interrupts)
    return problem, load.output()


@dataclass
class _RunningServer:
    run: Run
    spec: Server
    program: Program
    brood: Brood

    def wait_until(self, ready: Ready) -> Problem | None:
        """Wait until it is ready; why it never was."""
        limit = self.spec.ready_timeout
        in_time = self.run.interrupts.wait(
            lambda: self.program.ended() or (self._pid() and _holds(ready, self.program.output())), limit
        )
        if self.program.ended():
            return self.how_it_ended("before it was ready")
        if not in_time:
            missing = f"nobody used {ready}" if ready.port else f"nothing that it printed matches {ready}"
            return Problem(
                HUNG, f"the server was not ready after {in_seconds(limit)}: {missing}{self.program.last_line()}"
            )
        return None

    def how_it_ended(self, when: str) -> Problem:
        """Why it ended without being asked to."""
        account = usage.meter(self.run.folder / "meter")
        if "signal" in account:
            return Problem(CRASHED, f"the server died by {signal_name(account['signal'])} {when}")
        status = account.get("exit", self.program.child.returncode)
        if status == 0 and self.brood.alive():
            return Problem(FAILED, "the server went into the background; start it so that it stays in the foreground")
        return Problem(FAILED, f"the server ended with status {status:.0f} {when}{self.program.last_line()}")

    def stop(self) -> Problem | None:
        """Stop it, and end whatever it left; what was wrong with its end."""
        number, wait, patience = self.spec.stop_signal, self.run.interrupts.wait_tidily, self.spec.stop_timeout
        asked = self._signal(number)
        # Whether it has ended is the server's matter; perf around it may need a moment more for its account.
        stopped = wait(lambda: self.program.ended() or self._accounted(), patience, _HURRIED_STOP_S)
        stopped = stopped and wait(self.program.ended, 30.0)
        if not stopped:
            self._signal(signal.SIGKILL)  # the meter around it still writes what it used
            wait(self.program.ended, 5.0)
        early = None if asked else self.how_it_ended("during the load")
        wait(lambda: not (asked and stopped and self.brood.alive()), _WORKERS_STOP_S)
        left = [process.name for process in self.brood.alive()]
        self.program.end(self.run.interrupts)
        self.brood.end()
        if early:
            return early
        if not stopped:
            return Problem(
                HUNG, f"the server did not end within {in_seconds(patience)} of {number.name} and was killed"
            )
        if left:
            many = "a process" if len(left) == 1 else f"{len(left)} processes"
            return Problem(FAILED, f"the server left {many} behind, which had to be killed: {words(left)}")
        return self._bad_end(number)

    def _signal(self, number: int) -> bool:
        """To the server itself: perf and the meter around it must live on until it has ended. False: it has already."""
        for process in self.brood.alive():
            if process.pid == self._pid():
                process.send(number)
                return True
        return False

    def _accounted(self) -> bool:
        return bool({"exit", "signal"} & usage.meter(self.run.folder / "meter").keys())

    def _pid(self) -> float | None:
        return usage.meter(self.run.folder / "meter").get("pid")

    def _bad_end(self, asked: signal.Signals) -> Problem | None:
        account = usage.meter(self.run.folder / "meter")
        if "signal" in account:
            if account["signal"] == asked:
                return None
            return Problem(CRASHED, f"the server died by {signal_name(account['signal'])} after {asked.name}")
        status = account.get("exit", -1)
        if status not in (0, self.spec.exit_status, 128 + asked):
            last = self.program.last_line()
            return Problem(FAILED, f"the server ended with status {status:.0f} after {asked.name}{last}")
        return None
