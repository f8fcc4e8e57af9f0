"""One run of one program: started, measured, judged. Whatever happens becomes an Outcome, never an exception."""

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lockswap import judge, machine, perf
from lockswap.errors import UserError
from lockswap.judge import Counts, Output, WrongResult
from lockswap.paths import Paths
from lockswap.preload import clean_environment, lock_variables
from lockswap.recipes import Recipe, fill

# How a run can end. OK is the only one whose numbers count.
OK = "ok"
CRASHED = "crashed"  # died by a signal
FAILED = "failed"  # the wrong exit status
HUNG = "hung"  # still running at the time limit
WRONG = "wrong result"  # ended well, but its own check of its result did not
NO_LOCK = "no lock"  # does not take the lock under test
SKIPPED = "skipped"  # not started, for the reason given

_KEPT_OUTPUT = 16 << 20  # of a program that prints without end, the last so many bytes


@dataclass
class Outcome:
    status: str
    detail: str = ""
    metrics: dict[str, float] = field(default_factory=dict)
    usage: dict[str, float] = field(default_factory=dict)
    output: Output = field(default_factory=lambda: Output("", ""))
    counts: Counts | None = None
    command: str = ""


@dataclass(frozen=True)
class Setup:
    """What all runs of a campaign have in common."""

    paths: Paths
    events: list[str] | None
    wait: str | None = None
    pin: str | None = None
    numactl: tuple[str, ...] = ()
    timeout: float | None = None
    preload: tuple[str, ...] = ()  # files that are preloaded beside our library, for every lock and for none

    def with_seconds(self, recipe: Recipe, seconds: int) -> float:
        return self.timeout if self.timeout is not None else recipe.time_limit(seconds)


def scratch_root() -> str | None:
    """tmpfs where there is one: the disk shall not be what is measured."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def measure(
    setup: Setup,
    recipe: Recipe,
    lock: str,
    threads: int,
    seconds: int,
    params: Mapping[str, object],
    count: bool = False,
    cwd: Path | None = None,
) -> Outcome:
    """Run `recipe` once. `count` asks for LOCKSWAP_STATS. `cwd` None means the run's scratch folder."""
    with tempfile.TemporaryDirectory(prefix="lockswap-", dir=scratch_root(), ignore_cleanup_errors=True) as folder:
        own = Path(folder)
        tmp = own / "tmp"
        tmp.mkdir()
        values = {**params, "threads": threads, "seconds": seconds, "tmp": tmp, "apps": setup.paths.apps}
        command = recipe.fill(recipe.command, values)
        base = clean_environment(os.environ)
        base |= {key: fill(text, values) for key, text in recipe.env.items()}
        for prepare in recipe.prepare:
            problem = _prepare(recipe.fill(prepare, values), tmp, base, setup.with_seconds(recipe, seconds))
            if problem:
                return Outcome(SKIPPED, problem)
        stats = own / "stats" if count else None
        swap = lock_variables(
            setup.paths.library,
            lock,
            setup.wait,
            base.get("LD_PRELOAD", ""),
            str(stats) if stats else None,
            setup.preload,
        )
        if swap:
            base.pop("LD_PRELOAD", None)
        for key in [key for key in base if key.startswith("LOCKSWAP_") and key in _CHOSEN]:
            del base[key]
        line = _wrapped(setup, own, threads, swap, command)
        outcome = _execute(line, cwd or tmp, base, own, setup.with_seconds(recipe, seconds))
        outcome.command = shlex.join(command)
        outcome.usage |= _usage(own)
        if stats:
            outcome.counts = judge.read_counts(stats, recipe.lock_check.program)
        return _judged(outcome, recipe, values)


# Set by us for each run; a value in the user's environment must not leak into the baseline.
_CHOSEN = ("LOCKSWAP_RWLOCK", "LOCKSWAP_WAIT", "LOCKSWAP_STATS")


def _wrapped(setup: Setup, own: Path, threads: int, swap: Mapping[str, str], command: list[str]) -> list[str]:
    """The program, wrapped from the inside out: only the program itself is preloaded."""
    line = command
    if swap:
        line = ["env", *(f"{key}={value}" for key, value in swap.items()), *line]
    if setup.numactl:
        line = ["numactl", *setup.numactl, "--", *line]
    if setup.pin:
        line = ["taskset", "-c", ",".join(map(str, machine.pin_set(setup.pin, threads))), *line]
    line = [str(setup.paths.meter), "run", str(own / "meter"), *line]
    if setup.events:
        line = [*perf.wrap(setup.events, own / "perf"), *line]
    return line


def _prepare(command: list[str], cwd: Path, env: Mapping[str, str], limit: float) -> str | None:
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit,
        )
    except OSError as error:
        return f"its preparation cannot start: {error}"
    except subprocess.TimeoutExpired:
        return f"its preparation was not done after {limit:g} s"
    if done.returncode != 0:
        return f"its preparation failed with status {done.returncode}: {Output(done.stdout, done.stderr).last_line()}"
    return None


def _execute(line: list[str], cwd: Path, env: Mapping[str, str], own: Path, limit: float) -> Outcome:
    out_path, err_path = own / "stdout", own / "stderr"
    with out_path.open("wb") as out, err_path.open("wb") as err:
        try:
            # Files, not pipes: a pipe would slow a talkative program down, and a left-over child would hold it open.
            child = subprocess.Popen(
                line, cwd=cwd, env=dict(env), stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
            )
        except OSError as error:
            return Outcome(FAILED, f"cannot start: {error}")
        try:
            status = child.wait(timeout=limit)
            hung = False
        except subprocess.TimeoutExpired:
            status, hung = None, True
        finally:
            _end_group(child)
    output = Output(_tail(out_path), _tail(err_path))
    if hung:
        return Outcome(HUNG, f"still running after {limit:g} s", output=output)
    return Outcome(OK if status == 0 else FAILED, f"exit status {status}", output=output)


def _end_group(child: subprocess.Popen) -> None:
    """End the program and whatever it started that is still in its process group; asked first, then forced."""
    for number, patience in ((signal.SIGTERM, 2.0), (signal.SIGKILL, 5.0)):
        try:
            os.killpg(child.pid, number)
        except ProcessLookupError:
            break
        except PermissionError:
            break
        try:
            child.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            continue
    child.wait()


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _KEPT_OUTPUT))
        return file.read().decode("utf-8", "replace")


def _usage(own: Path) -> dict[str, float]:
    """The meter's account, and over it what perf counted."""
    usage: dict[str, float] = {}
    meter = own / "meter"
    if meter.exists():
        for line in meter.read_text().splitlines():
            key, value = line.split()
            usage[key] = float(value)
    if "wall_ns" in usage:
        usage["wall_s"] = usage.pop("wall_ns") / 1e9
        usage["cpu_s"] = usage["user_s"] + usage["sys_s"]
        usage["context_switches"] = usage["switches_voluntary"] + usage["switches_involuntary"]
        usage["page_faults"] = usage["faults_minor"] + usage["faults_major"]
    counted = own / "perf"
    if counted.exists():
        events = perf.parse(counted.read_text())
        for event, key in (
            ("context-switches", "context_switches"),
            ("cpu-migrations", "cpu_migrations"),
            ("page-faults", "page_faults"),
            ("cycles", "cycles"),
            ("instructions", "instructions"),
        ):
            if event in events:
                usage[key] = events[event]
        if "task-clock" in events:
            usage["cpu_s"] = events["task-clock"] / 1e3
    return usage


def _judged(outcome: Outcome, recipe: Recipe, values: Mapping[str, object]) -> Outcome:
    """Turn the way the process ended and what it printed into a status and metrics."""
    if outcome.status == HUNG:
        return outcome
    usage = outcome.usage
    if "signal" in usage:
        number = int(usage["signal"])
        outcome.status = CRASHED
        outcome.detail = f"died by {_signal_name(number)}"
        return outcome
    status = int(usage.get("exit", -1))
    if status != recipe.exit_status:
        outcome.status = FAILED
        last = outcome.output.last_line()
        ended = f"exit status {status}" if "exit" in usage else outcome.detail
        outcome.detail = ended + (f": {last}" if last else "")
        return outcome
    outcome.status, outcome.detail = OK, ""
    try:
        judge.check_expectations(recipe.expect, outcome.output)
        outcome.metrics = judge.metrics(recipe, outcome.output, values, usage["wall_s"], usage["cpu_s"])
    except WrongResult as wrong:
        outcome.status, outcome.detail = WRONG, str(wrong)
    return outcome


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def check_tools(setup: Setup) -> None:
    """What the command line asked for must be there before the first run, not fail in each."""
    for wanted, tool, package in ((setup.pin, "taskset", "util-linux"), (setup.numactl, "numactl", "numactl")):
        if wanted and shutil.which(tool) is None:
            raise UserError(f"{tool} is not installed; 'apt-get install {package}'")
    if setup.numactl:
        tried = subprocess.run(["numactl", *setup.numactl, "--", "true"], capture_output=True, text=True)
        if tried.returncode != 0:
            problem = (tried.stderr.strip().splitlines() or ["it fails"])[0]
            raise UserError(f"--numactl '{shlex.join(setup.numactl)}' does not work: {problem}")
