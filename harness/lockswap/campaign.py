"""A campaign: what to run in which order, and the loop that runs it."""

import os
import random
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from lockswap import judge, machine, runner
from lockswap.paths import Paths
from lockswap.recipes import Recipe
from lockswap.registry import BASELINES, NONE
from lockswap.store import GIVEN_UP, NUMBER_COLUMNS, Folder, RawWriter, Row, scrub
from lockswap.text import plural

# Above this share of stolen time, or below this share of CPUs, a run says more about the neighbours.
STEAL_LIMIT = 0.10
AVAILABLE_LIMIT = 0.75
# A combination that hangs or fails so often is not tried again.
GIVE_UP = {runner.HUNG: 1, runner.CRASHED: 3, runner.FAILED: 3, runner.WRONG: 3, runner.SKIPPED: 1}


@dataclass(frozen=True)
class Job:
    """A workload with what the command line settled for it."""

    recipe: Recipe
    threads: tuple[int, ...]
    seconds: int
    params: Mapping[str, Any]
    own: bool = False  # the user's command: runs in the current folder

    def describe(self) -> dict[str, Any]:
        """What the report needs to know, so that it needs no recipe."""
        recipe = self.recipe
        return {
            "name": recipe.name,
            "title": recipe.title,
            "source": recipe.source,
            "measures": recipe.measures,
            "note": recipe.note,
            "command": [scrub(word) for word in recipe.command],
            "params": dict(self.params),
            "threads": list(self.threads),
            "threads_label": recipe.threads_label,
            "seconds": self.seconds,
            "fixed_work": recipe.fixed_work,
            "own": self.own,
            "metric": [
                {key: value for key, value in asdict(metric).items() if value is not None} for metric in recipe.metrics
            ],
        }


@dataclass(frozen=True)
class Planned:
    run: int
    round: int
    job: Job
    threads: int
    lock: str

    @property
    def cell(self) -> tuple[str, int, str]:
        return self.job.recipe.name, self.threads, self.lock


def with_baselines(locks: list[str]) -> list[str]:
    """Both baselines first, whatever was asked for."""
    return [*BASELINES, *(lock for lock in dict.fromkeys(locks) if lock not in BASELINES)]


def plan(jobs: list[Job], locks: list[str], repeats: int, seed: int) -> list[Planned]:
    """Round after round, every combination once; within each, the locks in an order drawn anew."""
    dice = random.Random(seed)
    runs = []
    for number in range(1, repeats + 1):
        for job in jobs:
            for threads in job.threads:
                order = dice.sample(locks, len(locks))
                runs += [Planned(len(runs) + i, number, job, threads, lock) for i, lock in enumerate(order, 1)]
    return runs


class Watcher(Protocol):
    """What shows the progress; see terminal.py."""

    def starts(self, what: str, left_s: float) -> None: ...

    def done(self, share: float, left_s: float) -> None: ...

    def says(self, text: str) -> None: ...


@dataclass
class Campaign:
    """Everything that is settled before the first run."""

    folder: Folder
    setup: runner.Setup
    jobs: list[Job]
    locks: list[str]
    repeats: int
    seed: int
    about: dict[str, Any]  # name, command line and the like, for campaign.toml
    cwd: Path = field(default_factory=Path.cwd)

    def run(self, watcher: Watcher) -> bool:
        """Run it all; False if it was interrupted. What was measured is on disk in either case."""
        return _Execution(self, watcher).run()

    def write_about(self, finished: bool, notes: list[str]) -> None:
        self.folder.write_campaign(
            {
                **self.about,
                "finished": finished,
                "locks": self.locks,
                "repeats": self.repeats,
                "seed": self.seed,
                "planned_runs": len(plan(self.jobs, self.locks, self.repeats, self.seed)),
                "notes": notes,
                "workload": [job.describe() for job in self.jobs],
            }
        )


class _Execution:
    def __init__(self, campaign: Campaign, watcher: Watcher) -> None:
        self.campaign = campaign
        self.watcher = watcher
        self.began = time.monotonic()
        self.notes: list[str] = []
        self.failed: Counter = Counter()
        self.clock = _Clock()
        self.checks: list[dict[str, Any]] = []
        self.unfit: dict[tuple[str, str], tuple[str, str]] = {}
        self.available: float | None = None

    def run(self) -> bool:
        campaign = self.campaign
        earlier = campaign.folder.rows()  # of an interrupted campaign that goes on
        if earlier:
            self.began -= max(row.numbers.get("started_s", 0) + row.numbers.get("wall_s", 0) for row in earlier)
            self.failed.update((row.workload, row.threads, row.lock, row.status) for row in earlier)
        done = {row.run for row in earlier}
        campaign.write_about(False, [])
        todo = [
            planned
            for planned in plan(campaign.jobs, campaign.locks, campaign.repeats, campaign.seed)
            if planned.run not in done
        ]
        metrics = dict.fromkeys(metric.name for job in campaign.jobs for metric in job.recipe.metrics)
        raw = RawWriter(campaign.folder, metrics)
        interrupted = False
        try:
            self._prepare()
            self._check_all(todo)
            self._measure_all(todo, raw)
        except KeyboardInterrupt:
            interrupted = True
            self.notes.append("interrupted: later rounds are missing")
        finally:
            raw.close()
            campaign.write_about(not interrupted, self.notes)
        return not interrupted

    def _prepare(self) -> None:
        """Build what is not there, and see what cannot run at all."""
        for job in self.campaign.jobs:
            problem = None if job.own else self._build(job.recipe) or _lacks_room(job.recipe)
            if problem:
                self.watcher.says(f"{job.recipe.name}: {problem}")
                for lock in self.campaign.locks:
                    self.unfit[job.recipe.name, lock] = (runner.SKIPPED, problem)

    def _build(self, recipe: Recipe) -> str | None:
        paths = self.campaign.setup.paths
        if recipe.program_present(paths.apps):
            return None
        if recipe.build is None:
            return f"'{recipe.command[0]}' is not installed"
        self.watcher.starts(f"building {recipe.name}", 0)
        return build(paths, recipe)

    def _check_all(self, todo: list[Planned]) -> None:
        """Count, under each lock, whether the workload takes it."""
        pairs = list(dict.fromkeys((planned.job.recipe.name, planned.lock) for planned in todo))
        jobs = {job.recipe.name: job for job in self.campaign.jobs}
        remaining = [pair for pair in pairs if pair not in self.unfit]
        for index, (name, lock) in enumerate(remaining):
            job = jobs[name]
            rest = [jobs[other].recipe for other, _ in remaining[index:]]
            left = sum(self.clock.check(recipe) for recipe in rest) + self.clock.left(todo)
            self.watcher.starts(f"counting {name} under {lock}", left)
            self._check(job, lock)
            self.campaign.folder.write_checks(self.checks)

    def _check(self, job: Job, lock: str) -> None:
        campaign, check = self.campaign, job.recipe.lock_check
        # The user's own command runs as it will be measured; a recipe says how it wants to be checked.
        threads = job.threads[0] if job.own else check.threads
        seconds = job.seconds if job.own else check.seconds
        began = time.monotonic()
        outcome = runner.measure(
            campaign.setup,
            job.recipe,
            lock,
            threads,
            seconds,
            {**job.params, **check.params},
            count=lock != NONE,
            cwd=campaign.cwd if job.own else None,
        )
        self.clock.saw_check(job.recipe, time.monotonic() - began)
        status, detail = outcome.status, outcome.detail
        entry: dict[str, Any] = {"workload": job.recipe.name, "lock": lock}
        counts = outcome.counts
        if counts is not None:
            entry |= {
                "processes": counts.processes,
                "calls": counts.calls,
                "locks": counts.locks,
                "totals": counts.totals,
                "fast_read_share": counts.fast_read_share,
                "operations": judge.operations_of(check, outcome.output),
            }
            if status == runner.OK:
                problem = judge.lock_check_failure(check, counts, outcome.output)
                if problem:
                    status, detail = runner.NO_LOCK, problem
        detail = scrub(detail, campaign.setup.paths.root)
        entry |= {"status": status, "detail": detail}
        self.checks.append(entry)
        if status == runner.OK:
            return
        self.watcher.says(f"{job.recipe.name} under {lock}: {status}: {detail}")
        self._keep_output(f"check-{job.recipe.name}-{lock}", outcome)
        if status in (runner.NO_LOCK, runner.SKIPPED):
            self.unfit[job.recipe.name, lock] = (status, detail)
        # A crash, hang or wrong result may depend on the thread count: the measured runs will tell.

    def _measure_all(self, todo: list[Planned], raw: RawWriter) -> None:
        for index, planned in enumerate(todo):
            left = self.clock.left(todo[index:])
            name = planned.job.recipe.name
            self.watcher.starts(
                f"round {planned.round}/{self.campaign.repeats}: {name}, "
                f"{plural(planned.threads, 'thread')}, {planned.lock}",
                left,
            )
            raw.add(self._measure(planned))
            left = self.clock.left(todo[index + 1 :])
            self.watcher.done(self.clock.spent / (self.clock.spent + left) if left else 1.0, left)

    def _measure(self, planned: Planned) -> Row:
        campaign, job = self.campaign, planned.job
        row = Row(planned.run, planned.round, job.recipe.name, planned.lock, planned.threads, runner.OK)
        known = self.unfit.get((job.recipe.name, planned.lock)) or self._given_up(planned)
        if known:
            row.status, row.detail = known
            return row
        meter = campaign.setup.paths.meter
        before = self.available if self.available is not None else machine.cpus_available(meter)
        load, ticks, began = os.getloadavg()[0], machine.Ticks.now(), time.monotonic()
        outcome = runner.measure(
            campaign.setup,
            job.recipe,
            planned.lock,
            planned.threads,
            job.seconds,
            job.params,
            cwd=campaign.cwd if job.own else None,
        )
        steal = machine.Ticks.now().steal_share_since(ticks)
        self.clock.saw(planned, time.monotonic() - began)
        # The probe after this run is the one before the next.
        self.available = machine.cpus_available(meter)
        probes = [probe for probe in (before, self.available) if probe is not None]
        row.status, row.detail, row.metrics = outcome.status, outcome.detail, outcome.metrics
        row.numbers = {key: value for key, value in outcome.usage.items() if key in NUMBER_COLUMNS}
        row.numbers |= {"started_s": began - self.began, "load1": load, "steal_share": steal}
        if probes:
            row.numbers["cpus_available"] = min(probes)
        row.disturbed = int(steal > STEAL_LIMIT or (bool(probes) and min(probes) < AVAILABLE_LIMIT))
        if row.status != runner.OK:
            row.detail = scrub(row.detail, campaign.setup.paths.root)
            self.failed[(*planned.cell, row.status)] += 1
            self._keep_output(f"{planned.run:05d}", outcome)
            where = f"{row.workload}, {plural(row.threads, 'thread')}, {row.lock}"
            self.watcher.says(f"{where}: {row.status}: {row.detail}")
        return row

    def _given_up(self, planned: Planned) -> tuple[str, str] | None:
        for status, limit in GIVE_UP.items():
            times = self.failed[(*planned.cell, status)]
            if times >= limit:
                often = "once" if times == 1 else f"{times} times"
                return runner.SKIPPED, f"{GIVEN_UP}: {status} {often} before"
        return None

    def _keep_output(self, name: str, outcome: runner.Outcome) -> None:
        output = outcome.output
        text = (
            f"$ {outcome.command}\n{outcome.status}: {outcome.detail}\n"
            f"--- stdout (end)\n{output.stdout[-4000:]}\n--- stderr (end)\n{output.stderr[-4000:]}\n"
        )
        self.campaign.folder.write_failure(name, scrub(text, self.campaign.setup.paths.root))


def build(paths: Paths, recipe: Recipe) -> str | None:
    """Run a recipe's build script; None, or why the program is not there afterwards."""
    script = paths.root / "apps" / (recipe.build or "")
    if not script.is_file():
        return f"its build script apps/{recipe.build} is not there"
    env = os.environ | {
        "LOCKSWAP_ROOT": str(paths.root),
        "LOCKSWAP_BUILD": str(paths.build),
        "LOCKSWAP_APPS": str(paths.apps),
    }
    paths.apps.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["bash", script],
        cwd=paths.root / "apps",
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        return f"cannot be built: {scrub(reason, paths.root)}"
    if not recipe.program_present(paths.apps):
        return f"its build script left no {Path(recipe.command[0]).name}"
    return None


def _lacks_room(recipe: Recipe) -> str | None:
    if recipe.memory_mb and machine.memory_mb() < recipe.memory_mb:
        return f"needs {recipe.memory_mb} MB of memory, {machine.memory_mb()} MB are available"
    free = shutil.disk_usage(runner.scratch_root() or "/tmp").free >> 20
    if recipe.tmp_mb and free < recipe.tmp_mb:
        return f"needs {recipe.tmp_mb} MB of scratch space on tmpfs, {free} MB are free"
    return None


class _Clock:
    """Foretells how long runs take: first from what was asked for, then from what was seen."""

    def __init__(self) -> None:
        self.seen: dict[tuple[str, int], list[float]] = {}
        self.seen_check: dict[str, list[float]] = {}
        self.spent = 0.0

    def expect(self, planned: Planned) -> float:
        times = self.seen.get((planned.job.recipe.name, planned.threads))
        if times:
            return sum(times) / len(times)
        others = [time for key, times in self.seen.items() if key[0] == planned.job.recipe.name for time in times]
        if others:
            return sum(others) / len(others)
        if planned.job.recipe.fixed_work:
            checks = self.seen_check.get(planned.job.recipe.name)
            return sum(checks) / len(checks) if checks else 3.0
        return planned.job.seconds + 0.5

    def left(self, todo: list[Planned]) -> float:
        return sum(self.expect(planned) for planned in todo)

    def saw(self, planned: Planned, took: float) -> None:
        self.spent += took
        self.seen.setdefault((planned.job.recipe.name, planned.threads), []).append(took)

    def check(self, recipe: Recipe) -> float:
        times = self.seen_check.get(recipe.name)
        return sum(times) / len(times) if times else recipe.lock_check.seconds + 0.5

    def saw_check(self, recipe: Recipe, took: float) -> None:
        self.seen_check.setdefault(recipe.name, []).append(took)
