"""One run of a case: commands and servers, with the library or without, in an empty folder, as long as they get on."""

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lockswap.base.choice import Choice
from lockswap.run import ports
from lockswap.run.processes import Brood
from suite import stuck
from suite.place import Place
from suite.progress import Progress
from suite.wrong import Wrong

_PR_SET_PDEATHSIG = 1
# How long processes may be idle: below the five minutes after which the whole test is ended, which describes nothing.
IDLE_S = 120.0
_STOP_IDLE_S = 60.0  # of a server that was asked to end
# Of processes that are just ending, though nobody waits for them.
_END_IDLE_S = _END_CPU_S = 5.0
_prctl = ctypes.CDLL(None).prctl


@dataclass(frozen=True)
class Under:
    """What a run is under: a choice of locks, by its label (lockswap/choice.py), and a wait policy."""

    lock: str
    wait: str

    @property
    def kinds(self) -> frozenset[str]:
        return Choice.of(self.lock).kinds

    def __str__(self) -> str:
        return f"{self.lock}, {self.wait}"


@dataclass(frozen=True)
class Output:
    stdout: str
    stderr: str


class Stage:
    """What a case's function is called with. Commands are lists of arguments; there is no shell.

    `tmp` is an empty folder on tmpfs if possible, the working directory and the home of everything; it is removed after
    the run. `under` is None in the run without the library, with which the others are compared.
    """

    def __init__(
        self, place: Place, tmp: Path, out: Path, limit: float, under: Under | None = None, counted: bool = False
    ) -> None:
        self.place, self.tmp, self.under, self.counted = place, tmp, under, counted
        self._out, self._limit = out, limit
        self._steps = 0
        self._brood = Brood()
        self.results: list[str] = []

    # ---- what cases use

    def program(self, name: str) -> str:
        """The path of a program of a Debian package, for use within arguments; a command's first word needs it not."""
        return self.place.program(name)

    def data(self, path: str) -> Path:
        """A file or folder of a Debian package, such as "usr/share/mysql"."""
        return self.place.data(path)

    def library(self, path: str) -> Path:
        """A library or plug-in of a Debian package, by its path below usr/lib/<architecture>."""
        return self.place.library_file(path)

    def write(self, name: str, text: str) -> Path:
        """A file in `tmp`."""
        path = self.tmp / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    @property
    def is_root(self) -> bool:
        """Some servers need an option to go on as root."""
        return os.geteuid() == 0

    def port(self) -> int:
        """A port of this machine that nobody uses."""
        return ports.free()

    def swapped(self, *command: str | Path, status: int = 0, **env: str) -> Output:
        """Runs a command with the library (in the comparison run, without); the status must be right."""
        return self._finish(self._start(command, True, env), command, status)

    def plain(self, *command: str | Path, status: int = 0, **env: str) -> Output:
        """Runs a command without the library: what prepares, loads a server, or looks at results."""
        return self._finish(self._start(command, False, env), command, status)

    def together(self, *commands: list[str | Path]) -> list[Output]:
        """Runs commands side by side, without the library."""
        started = [(self._start(command, False, {}), command) for command in commands]
        return [self._finish(step, command, 0) for step, command in started]

    @contextlib.contextmanager
    def server(self, *command: str | Path, ready: str | Path, stop: int = signal.SIGTERM, **env: str) -> Iterator[None]:
        """Runs a server with the library while the body of the `with` loads it, then stops it.

        `ready` is "tcp:PORT", "udp:PORT" or the path of a socket. The signal may end it outright: where acquisitions
        are counted, build/bin/lockswap-stats-on-signal.so is preloaded as well.
        """
        step = self._start(command, True, env, is_server=True)
        self._wait(lambda: step.child.poll() is not None or _is_ready(ready), step)
        if step.child.poll() is not None:
            raise Wrong(f"{step.name} ended before it was ready{step.how()}")
        try:
            yield
        except Wrong as wrong:
            # A client may know it before the kernel has ended the server.
            if self._do_end(lambda: step.child.poll() is not None):
                raise Wrong(f"{step.name} ended under load{step.how()}; its load: {wrong}") from wrong
            raise
        if step.child.poll() is not None:
            raise Wrong(f"{step.name} ended under load{step.how()}")
        step.child.send_signal(stop)
        asked = f" after {signal.Signals(stop).name}"
        self._wait(lambda: step.child.poll() is not None, step, asked, _STOP_IDLE_S)
        if step.child.returncode not in (0, -stop, 128 + stop):
            raise Wrong(f"{step.name} ended badly after {signal.Signals(stop).name}{step.how()}")

    def need(self, condition: object, why: str) -> None:
        """The program's own check; `why` is shown when it fails."""
        if not condition:
            raise Wrong(why)

    def same(self, result: str) -> None:
        """A result that must be the same as in the run without the library."""
        self.results.append(result)

    # ---- what the trial uses

    def close(self) -> None:
        """Ends what is left. Wrong if something was."""
        left = [] if self._do_end(lambda: not self._brood.alive()) else self._brood.alive()
        text = stuck.describe(left) if left else ""
        self._brood.end()
        if left:
            (self._out / "left.txt").write_text(text)
            raise Wrong(f"it left processes behind: {', '.join(process.name for process in left)} (see left.txt)")

    def end(self) -> None:
        """Ends everything at once."""
        self._brood.end()

    # ---- inside

    def _environment(self, swapped: bool, env: Mapping[str, str], is_server: bool) -> dict[str, str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_") and k != "LD_PRELOAD"}
        clean |= {"HOME": str(self.tmp), "TMPDIR": str(self.tmp), "LC_ALL": "C.UTF-8"}
        if libraries := self.place.libraries():
            clean["LD_LIBRARY_PATH"] = libraries
        clean |= env
        if not swapped or self.under is None:
            return clean
        preload = [self.place.library]
        if self.counted:
            clean["LOCKSWAP_STATS"] = str(self._out / "stats")
            if is_server:
                preload.append(self.place.build / "bin/lockswap-stats-on-signal.so")
        return clean | {
            "LD_PRELOAD": " ".join(map(str, preload)),
            **Choice.of(self.under.lock).variables,
            "LOCKSWAP_WAIT": self.under.wait,
        }

    def _start(self, command: tuple | list, swapped: bool, env: Mapping[str, str], is_server: bool = False) -> "_Step":
        first = str(command[0])
        line = [first if "/" in first else self.place.program(first), *map(str, command[1:])]
        self._steps += 1
        name = Path(first).name
        stdout, stderr = (self._out / f"{self._steps:02}-{name}.{stream}" for stream in ("stdout", "stderr"))
        with stdout.open("wb") as out, stderr.open("wb") as err:
            try:
                child = subprocess.Popen(
                    line, cwd=self.tmp, env=self._environment(swapped, env, is_server), stdin=subprocess.DEVNULL,
                    stdout=out, stderr=err, start_new_session=True, preexec_fn=_die_with_parent,
                )  # fmt: skip
            except OSError as error:
                raise Wrong(f"{name} cannot be started: {error}") from error
        return _Step(name, child, stdout, stderr)

    def _wait(self, condition: Callable[[], bool], step: "_Step", when: str = "", idle_s: float | None = None) -> None:
        if not _comes(condition, Progress(self._brood, idle_s or IDLE_S, self._limit)):
            (self._out / "stuck.txt").write_text(stuck.describe(self._brood.alive()))
            raise Wrong(f"hang: {step.name} does not get on{when} (what its threads wait for: stuck.txt)")

    def _do_end(self, condition: Callable[[], bool]) -> bool:
        return _comes(condition, Progress(self._brood, _END_IDLE_S, _END_CPU_S))

    def _finish(self, step: "_Step", command: tuple | list, status: int) -> Output:
        self._wait(lambda: step.child.poll() is not None, step)
        if step.child.returncode != status:
            line = " ".join(" ".join([step.name, *map(str, command[1:4])]).split())
            raise Wrong(f"{line[:100]}{step.how()}")
        return step.output()


@dataclass
class _Step:
    name: str
    child: subprocess.Popen
    stdout: Path
    stderr: Path

    def output(self) -> Output:
        return Output(*(path.read_text(errors="replace") for path in (self.stdout, self.stderr)))

    def how(self) -> str:
        """How it ended, and the line that most likely says why."""
        code = self.child.returncode
        text = f" died by {signal.Signals(-code).name}" if code < 0 else f" ended with status {code}"
        output = self.output()
        for stream in (output.stderr, output.stdout):
            if lines := [line.strip() for line in stream.splitlines() if line.strip()]:
                return f"{text}: {lines[-1][:200]}"
        return text


def _comes(condition: Callable[[], bool], progress: Progress) -> bool:
    """Waits for `condition`; False if the processes don't get on."""
    pause = 0.001
    while not condition():
        if progress.is_over():
            return condition()
        time.sleep(pause)
        pause = min(2 * pause, 0.02)
    return True


def _die_with_parent() -> None:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _is_ready(ready: str | Path) -> bool:
    if isinstance(ready, Path):
        return ready.exists()
    protocol, _, port = ready.partition(":")
    return ports.used(int(port), protocol)
