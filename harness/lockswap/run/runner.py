"""One run of one workload: prepared, started, measured, judged. Whatever happens becomes an Outcome, no exception
but KeyboardInterrupt; and whatever was started has ended then."""

import os
import shlex
import signal
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from lockswap.base.choice import Choice
from lockswap.base.text import in_seconds
from lockswap.recipes import judge
from lockswap.recipes.judge import WrongResult
from lockswap.recipes.output import Output
from lockswap.recipes.recipe import Recipe, fill
from lockswap.recipes.server import Ready, Server
from lockswap.records.status import CRASHED, FAILED, HUNG, OK, SKIPPED, WRONG
from lockswap.run import cpus, perf, ports, sanitizer, traces, usage
from lockswap.run.outcome import Outcome
from lockswap.run.preload import clean_environment, lock_variables
from lockswap.run.processes import Brood
from lockswap.run.server import serve
from lockswap.run.setup import Setup, scratch_root
from lockswap.run.signals import signal_name
from lockswap.run.steps import Interrupts, Program, Run


def measure(
    setup: Setup,
    recipe: Recipe,
    lock: str,
    threads: int,
    seconds: int,
    params: Mapping[str, object],
    count: bool = False,
    cwd: Path | None = None,
    trace: tuple[str, ...] = (),
) -> Outcome:
    """Run `recipe` once. `count` asks for LOCKSWAP_STATS, `trace` for kinds of traces; either slows it down.

    `cwd` None means the run's scratch folder.
    """
    return _PreparedRun(setup, recipe, lock, threads, seconds, params, count, cwd, trace).once()


@dataclass
class _PreparedRun:
    setup: Setup
    recipe: Recipe
    lock: str
    threads: int
    seconds: int
    params: Mapping[str, object]
    count: bool
    cwd: Path | None
    trace: tuple[str, ...]

    def once(self) -> Outcome:
        """Prepare, run, clean up. Whatever was started has ended afterwards, also on Ctrl-C."""
        scratch = tempfile.TemporaryDirectory(prefix="lockswap-", dir=scratch_root(), ignore_cleanup_errors=True)
        with Interrupts() as interrupts, scratch as folder, Brood():
            scratch_folder = Path(folder)
            tmp = scratch_folder / "tmp"
            tmp.mkdir()
            values = {**self.params, "threads": self.threads, "seconds": self.seconds, "tmp": tmp}
            values |= {"apps": self.setup.paths.apps, "port": ports.free()}
            run = self._what_is_shared(scratch_folder, self.cwd or tmp, values, interrupts)
            try:
                problem = self._commands("preparation", self.recipe.prepare, values, run)
                outcome = Outcome(SKIPPED, problem) if problem else self._run(run, values)
            finally:
                problem = self._commands("cleanup", self.recipe.cleanup, values, run)
            if problem and outcome.status == OK:
                outcome.status, outcome.detail = FAILED, problem
            return outcome

    def _commands(self, what: str, commands: Iterable[tuple[str, ...]], values: Mapping, run: Run) -> str | None:
        """Run the recipe's preparation or cleanup; why it did not work. All of a cleanup is tried."""
        problem = None
        for words in commands:
            failed = self._command(what, self.recipe.fill(words, values), run)
            problem = problem or failed
            if problem and what == "preparation":
                break
        return problem

    def _command(self, what: str, line: list[str], run: Run) -> str | None:
        wait = run.interrupts.wait if what == "preparation" else run.interrupts.wait_tidily
        try:
            program = Program.start(line, run.cwd, run.env, run.folder, what)
        except OSError as error:
            return f"its {what} cannot start: {error}"
        try:
            in_time = wait(program.ended, run.limit)
        finally:
            # What it left running in the background is meant: it ends with the run.
            if not program.ended():
                program.end(run.interrupts)
        if not in_time:
            return f"its {what} was not done after {in_seconds(run.limit)}"
        status = program.child.returncode
        return f"its {what} failed with status {status}{program.last_line()}" if status else None

    def _what_is_shared(self, folder: Path, cwd: Path, values: Mapping, interrupts: Interrupts) -> Run:
        env = clean_environment(os.environ)
        env |= {key: fill(text, values) for key, text in self.recipe.env.items()}
        # What we set for each run must not leak from the user's environment into the baseline.
        env = {key: value for key, value in env.items() if key not in _CHOSEN}
        limit = self.setup.with_seconds(self.recipe, self.seconds)
        return Run(folder, cwd, env, limit, interrupts)

    def _run(self, run: Run, values: Mapping[str, object]) -> Outcome:
        stats = run.folder / "stats" if self.count else None
        extra = list(self.setup.preload)
        if self.count and self.recipe.server:  # the signal that stops it may be its end
            extra.append(str(self.setup.paths.stats_on_signal))
        words = self.recipe.server.command if self.recipe.server else self.recipe.command
        under_test = self.recipe.fill(words, values)
        swap = lock_variables(
            self.setup.paths.library,
            Choice.of(self.lock),
            self.setup.wait,
            run.env.get("LD_PRELOAD", ""),
            str(stats) if stats else None,
            extra,
            [*sanitizer.runtimes(under_test), *self.setup.preload_first],
            self.setup.policies,
        )
        if "LD_PRELOAD" in swap:
            swap |= sanitizer.variables(run.env, under_test)
        if "LD_PRELOAD" in swap and Choice.of(self.lock).variables:
            swap["LOCKSWAP_VERBOSE"] = "0"  # `compare` has warned, and a line of ours is not the program's output
        command = self.recipe.fill(self.recipe.command, values)
        if self.recipe.server:
            outcome = self._serve(run, self.recipe.server, swap, command, values)
        else:
            outcome = _execute(run, self._wrapped(run, swap, command), _without_preload(run.env, swap))
            outcome.command = shlex.join(command)
        outcome.traces = traces.summaries(self.trace, run.folder)
        if stats:
            outcome.counts = judge.read_counts(stats, self.recipe.lock_check.program)
        return _judged(outcome, self.recipe, values) if outcome.status == OK else outcome

    def _serve(self, run: Run, server: Server, swap: Mapping, load: list[str], values: Mapping) -> Outcome:
        if self.count and server.stop_signal == signal.SIGKILL:  # of which a program does not hear
            server = replace(server, stop="TERM")
        command = self.recipe.fill(server.command, values)
        try:
            ready = Ready.parse(fill(server.ready, values))
        except ValueError as error:  # only the values of the placeholders made it wrong
            return Outcome(SKIPPED, f"server.ready: {error}")
        served = serve(
            run,
            server,
            ready,
            self._wrapped(run, swap, command),
            [str(self.setup.paths.meter), "run", str(run.folder / "load-meter"), *load],
            _without_preload(run.env, swap),
        )
        outcome = Outcome(OK, output=Output(*served.load_output, served.server_output))
        outcome.command = f"{shlex.join(command)} & {shlex.join(load)}"
        if served.problem:
            outcome.status, outcome.detail = served.problem.status, served.problem.detail
        # The account is the server's; how long it took, and how it ended, the load's.
        of_load = usage.of(run.folder / "load-meter")
        of_server = usage.of(run.folder / "meter", run.folder / "perf")
        outcome.usage = {key: value for key, value in of_server.items() if key not in ("exit", "signal")}
        outcome.usage |= {key: of_load[key] for key in ("exit", "signal", "wall_s") if key in of_load}
        return outcome

    def _wrapped(self, run: Run, swap: Mapping[str, str], command: list[str]) -> list[str]:
        """The program under test, wrapped from the inside out: only the program itself is preloaded."""
        setup, line = self.setup, command
        if swap:
            # Not by env, which takes a program with '=' in its path for a variable.
            variables = [f"{key}={value}" for key, value in swap.items()]
            line = [str(setup.paths.meter), "with", *variables, "--", *line]
        if setup.numactl:
            line = ["numactl", *setup.numactl, "--", *line]
        if setup.pin:
            line = ["taskset", "-c", ",".join(map(str, cpus.pin_set(setup.pin, self.threads))), *line]
        line = [str(setup.paths.meter), "run", str(run.folder / "meter"), *line]
        if self.trace:
            line = [*traces.wrap(self.trace, run.folder), *line]
        elif setup.events:
            line = [*perf.wrap(setup.events, run.folder / "perf"), *line]
        # It ends if the harness is killed.
        return [str(setup.paths.meter), "guard", str(os.getpid()), *line]


_CHOSEN = ("LOCKSWAP_RWLOCK", "LOCKSWAP_MUTEX", "LOCKSWAP_COND", "LOCKSWAP_RANGE", "LOCKSWAP_WAIT", "LOCKSWAP_STATS")
_CHOSEN += ("LOCKSWAP_POLICY",)


def _without_preload(env: Mapping[str, str], swap: Mapping[str, str]) -> dict[str, str]:
    """What starts the program shall not be preloaded: `swap` has the user's own LD_PRELOAD as well."""
    return {key: value for key, value in env.items() if key != "LD_PRELOAD" or not swap}


def _execute(run: Run, line: list[str], env: Mapping[str, str]) -> Outcome:
    try:
        program = Program.start(line, run.cwd, env, run.folder, "program")
    except OSError as error:
        return Outcome(FAILED, f"cannot start: {error}")
    try:
        in_time = run.interrupts.wait(program.ended, run.limit)
    finally:
        program.end(run.interrupts)
    outcome = Outcome(OK, output=Output(*program.output()), usage=usage.of(run.folder / "meter", run.folder / "perf"))
    if not in_time:
        outcome.status, outcome.detail = HUNG, f"still running after {in_seconds(run.limit)}"
    elif not {"exit", "signal"} & outcome.usage.keys():
        outcome.status, outcome.detail = FAILED, f"exit status {program.child.returncode}{program.last_line()}"
    return outcome


def _judged(outcome: Outcome, recipe: Recipe, values: Mapping[str, object]) -> Outcome:
    """Turn the way the process ended and what it printed into a status and metrics."""
    ended = outcome.usage
    whose = "the load " if recipe.server else ""
    if "signal" in ended:
        outcome.status, outcome.detail = CRASHED, f"{whose}died by {signal_name(ended['signal'])}"
        return outcome
    if ended["exit"] != recipe.exit_status:
        last = outcome.output.last_line()
        if ended["exit"] == recipe.skip_status:
            outcome.status, outcome.detail = SKIPPED, last or f"exit status {recipe.skip_status}"
            return outcome
        outcome.status = FAILED
        outcome.detail = f"{whose and 'the load: '}exit status {ended['exit']:.0f}" + (f": {last}" if last else "")
        return outcome
    try:
        judge.check_expectations(recipe.expect, outcome.output)
        outcome.metrics = judge.metrics(recipe, outcome.output, values, ended["wall_s"], ended["cpu_s"])
    except WrongResult as wrong:
        outcome.status, outcome.detail = WRONG, str(wrong)
    return outcome
