"""A campaign: what to run in which order, and the loop that runs it."""

import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from lockswap import judge, machine, runner, summary
from lockswap.choice import MUTEX, RANGE, RWLOCK, Choice
from lockswap.clock import Clock
from lockswap.recipes import KINDS, Recipe
from lockswap.registry import BASELINES, NONE, PTHREAD
from lockswap.rounds import Key, Rounds, Turn, width
from lockswap.server_spec import Server
from lockswap.store import GIVEN_UP, NUMBER_COLUMNS, Folder, RawWriter, Row, scrub
from lockswap.text import plural, words
from lockswap.workplace import build, lacks_room

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
    locks: tuple[str, ...] = BASELINES[:2]  # labels, see choice.py; the baselines first
    against: str = PTHREAD  # that of the ratios

    def kinds(self, lock: str) -> frozenset[str]:
        """Kinds of locks that the workload takes and that are under test with this choice."""
        kinds = Choice.of(lock).kinds
        if lock == PTHREAD:
            kinds |= {RANGE}  # which have no pass-through of their own
        return kinds & set(self.recipe.takes)

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
            "locks": list(self.locks),
            "against": self.against,
            **({"server": _describe(recipe.server)} if recipe.server else {}),
            "metric": [
                {key: value for key, value in asdict(metric).items() if value is not None} for metric in recipe.metrics
            ],
        }


def _describe(server: Server) -> dict[str, Any]:
    return asdict(server) | {"command": [scrub(word) for word in server.command]}


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
    repeats: int  # rounds; with `until`, the least number of them
    seed: int
    about: dict[str, Any]  # name, command line and the like, for campaign.toml
    until: float | None = None  # rounds go on until every interval is so narrow; see rounds.py
    budget_s: float | None = None  # of measuring, after which no round begins
    traces: tuple[str, ...] = ()  # kinds, see traces.py
    cwd: Path = field(default_factory=Path.cwd)

    @property
    def locks(self) -> list[str]:
        """Those of all jobs."""
        return list(dict.fromkeys(lock for job in self.jobs for lock in job.locks))

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
                **({"until": self.until} if self.until else {"planned_runs": sum(self.rounds().left().values())}),
                "notes": notes,
                "workload": [job.describe() for job in self.jobs],
            }
        )

    def rounds(self, rows: Iterable[Row] = ()) -> Rounds:
        """What is to be run, after the rows that there are."""
        about = {**self.about, "locks": self.locks}
        described = {job.recipe.name: job.describe() for job in self.jobs}

        def widest(key: Key, rows: list[Row]) -> float:
            copies = [replace(row, metrics=dict(row.metrics)) for row in rows]
            return width(summary.workload_of(described[key[0]], about, copies), key[1])

        keys = {(job.recipe.name, threads): list(job.locks) for job in self.jobs for threads in job.threads}
        rounds = Rounds(keys, self.seed, self.repeats, self.until, widest)
        for row in rows:
            rounds.add(row)
        return rounds


class _Execution:
    def __init__(self, campaign: Campaign, watcher: Watcher) -> None:
        self.campaign = campaign
        self.watcher = watcher
        self.began = time.monotonic()
        self.notes: list[str] = []
        self.failed: Counter = Counter()
        self.clock = Clock(campaign.jobs)
        self.checks: list[dict[str, Any]] = []
        self.unfit: dict[tuple[str, str], tuple[str, str]] = {}
        self.available: float | None = None
        self.jobs = {job.recipe.name: job for job in campaign.jobs}
        self.runs = 0
        self.spent_s = 0.0  # measuring, by those who were interrupted

    def run(self) -> bool:
        campaign = self.campaign
        earlier = campaign.folder.rows()  # of an interrupted campaign that goes on
        if earlier:
            self.began -= max(map(_ended_s, earlier))
            self.spent_s = max(map(_ended_s, earlier)) - min(row.numbers.get("started_s", 0) for row in earlier)
            self.runs = max(row.run for row in earlier)
            self.checks = campaign.folder.checks()
            self.failed.update((row.workload, row.threads, row.lock, row.status) for row in earlier)
        campaign.write_about(False, [])
        rounds = campaign.rounds(earlier)
        metrics = dict.fromkeys(metric.name for job in campaign.jobs for metric in job.recipe.metrics)
        raw = RawWriter(campaign.folder, metrics)
        interrupted = False
        try:
            self._prepare()
            self._check_all(rounds)
            self._measure_all(rounds, raw)
            self._trace_all()
        except KeyboardInterrupt:
            interrupted = True
            missing = "later rounds" if any(rounds.left().values()) else "traces"
            self.notes.append(f"interrupted: {missing} are missing")
        finally:
            raw.close()
            campaign.write_about(not interrupted, self.notes)
        return not interrupted

    def _prepare(self) -> None:
        """Build what is not there, and see what cannot run at all."""
        for job in self.campaign.jobs:
            problem = None if job.own else self._build(job.recipe) or lacks_room(job.recipe)
            if problem:
                self.watcher.says(f"{job.recipe.name}: {problem}")
                for lock in job.locks:
                    self.unfit[job.recipe.name, lock] = (runner.SKIPPED, problem)
                continue
            others = [lock for lock in job.locks if lock != NONE and not job.kinds(lock)]
            if others:
                takes = job.recipe.takes
                text = f"takes only {words(KINDS[kind] for kind in takes)}, as its recipe says; "
                text += f"{words(f'--{kind}' for kind in takes)} chooses what they are swapped for"
                self.watcher.says(f"{job.recipe.name}: {text}; under {words(others)} it is not measured")
                self.unfit |= {(job.recipe.name, lock): (runner.NO_LOCK, text) for lock in others}

    def _build(self, recipe: Recipe) -> str | None:
        paths = self.campaign.setup.paths
        if recipe.program_present(paths.apps):
            return None
        if recipe.build is None:
            return f"'{recipe.missing_program(paths.apps)}' is not installed"
        self.watcher.starts(f"building {recipe.name}", 0)
        return build(paths, recipe)

    def _check_all(self, rounds: Rounds) -> None:
        """Count, under each lock, whether the workload takes it."""
        wanted = {name for (name, _), turns in rounds.left().items() if turns}
        pairs = [(name, lock) for name, job in self.jobs.items() if name in wanted for lock in job.locks]
        remaining = [pair for pair in pairs if pair not in self.unfit]
        for index, (name, lock) in enumerate(remaining):
            rest = [self.jobs[other].recipe for other, _ in remaining[index:]]
            left = sum(self.clock.check(recipe) for recipe in rest) + self._left_s(rounds)
            self.watcher.starts(f"counting {name} under {lock}", left)
            self._check(self.jobs[name], lock)
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
            count=lock != NONE and bool({RWLOCK, MUTEX} & set(job.recipe.takes)),
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
                "mutex_calls": counts.mutex_calls,
                "mutexes": counts.mutexes,
                "mutex_totals": counts.mutex_totals,
                "operations": judge.operations_of(check, outcome.output),
            }
            if status == runner.OK:
                problem = judge.lock_check_failure(check, counts, outcome.output, job.kinds(lock), job.own)
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

    def _measure_all(self, rounds: Rounds, raw: RawWriter) -> None:
        began = time.monotonic() - self.spent_s
        budget = self.campaign.budget_s
        current: tuple[int, Key] | None = None
        for turn in rounds:
            if budget and turn.round > 1 and (turn.round, turn.key) != current:
                current = turn.round, turn.key
                locks = self.jobs[turn.workload].locks
                if time.monotonic() - began + self.clock.expect(turn.key) * (len(locks) + 1) > budget:
                    self.notes.append(f"the budget of {budget / 60:g} min was spent")
                    return
            what = f"{turn.workload}, {plural(turn.threads, 'thread')}, {turn.lock}"
            of = "" if self.campaign.until else f"/{self.campaign.repeats}"
            self.watcher.starts(f"round {turn.round}{of}: {what}", self._left_s(rounds, began))
            row = self._measure(turn)
            raw.add(row)
            rounds.add(row)
            left = self._left_s(rounds, began)
            self.watcher.done(self.clock.spent / (self.clock.spent + left) if left else 1.0, left)

    def _left_s(self, rounds: Rounds, began: float | None = None) -> float:
        """A guess of the seconds until all is measured, or the budget is spent."""
        left = sum(self.clock.expect(key) * turns for key, turns in rounds.left().items())
        budget = self.campaign.budget_s
        if budget is None:
            return left
        return min(left, max(0.0, budget - (time.monotonic() - began if began else 0)))

    def _measure(self, turn: Turn) -> Row:
        campaign, job = self.campaign, self.jobs[turn.workload]
        self.runs += 1
        row = Row(self.runs, turn.round, turn.workload, turn.lock, turn.threads, runner.OK, twin=turn.twin)
        known = self.unfit.get((turn.workload, turn.lock)) or self._given_up(turn)
        if known:
            row.status, row.detail = known
            return row
        meter = campaign.setup.paths.meter
        before = self.available if self.available is not None else machine.cpus_available(meter)
        load, ticks, began = os.getloadavg()[0], machine.Ticks.now(), time.monotonic()
        outcome = runner.measure(
            campaign.setup,
            job.recipe,
            turn.lock,
            turn.threads,
            job.seconds,
            job.params,
            cwd=campaign.cwd if job.own else None,
        )
        steal = machine.Ticks.now().steal_share_since(ticks)
        self.clock.saw(turn.key, time.monotonic() - began)
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
            self.failed[row.workload, row.threads, row.lock, row.status] += 1
            self._keep_output(f"{row.run:05d}", outcome)
            where = f"{row.workload}, {plural(row.threads, 'thread')}, {row.lock}"
            self.watcher.says(f"{where}: {row.status}: {row.detail}")
        return row

    def _trace_all(self) -> None:
        """An extra run of every combination that runs well, under perf: not one of those that were measured."""
        campaign, kinds = self.campaign, self.campaign.traces
        good = {(row.workload, row.threads, row.lock) for row in campaign.folder.rows() if row.status == runner.OK}
        cells = [(job, t, lock) for job in campaign.jobs for t in job.threads for lock in job.locks if kinds]
        for job, threads, lock in cells:
            name = job.recipe.name
            files = {kind: campaign.folder.trace(name, threads, lock, kind) for kind in kinds}
            if (name, threads, lock) not in good or all(file.exists() for file in files.values()):
                continue  # there already: an interrupted campaign goes on
            self.watcher.starts(f"tracing {name}, {plural(threads, 'thread')}, {lock}", 0)
            cwd = campaign.cwd if job.own else None
            outcome = runner.measure(
                campaign.setup, job.recipe, lock, threads, job.seconds, job.params, cwd=cwd, trace=kinds
            )
            if outcome.status != runner.OK:
                self.watcher.says(f"{name}, {plural(threads, 'thread')}, {lock}, traced: {outcome.detail}")
            for kind, file in files.items():
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(outcome.traces.get(kind, f"No trace: {outcome.detail}\n"), encoding="utf-8")

    def _given_up(self, turn: Turn) -> tuple[str, str] | None:
        for status, limit in GIVE_UP.items():
            times = self.failed[turn.workload, turn.threads, turn.lock, status]
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
        if output.server:
            text += f"--- server (end)\n{output.server[-4000:]}\n"
        self.campaign.folder.write_failure(name, scrub(text, self.campaign.setup.paths.root))


def _ended_s(row: Row) -> float:
    return row.numbers.get("started_s", 0) + row.numbers.get("wall_s", 0)
