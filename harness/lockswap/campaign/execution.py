"""The loop that carries out the plan of a campaign."""

import contextlib
import os
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

from lockswap.base.choice import MUTEX, MUTEX_PTHREAD, NONE, PTHREAD, RWLOCK, Choice
from lockswap.base.errors import UserError
from lockswap.base.text import plural, words
from lockswap.campaign.job import Job
from lockswap.campaign.plan import Plan
from lockswap.campaign.rounds import Key, Rounds, Turn
from lockswap.campaign.time_estimate import TimeEstimate
from lockswap.campaign.watcher import Watcher
from lockswap.campaign.workplace import build, lacks_room
from lockswap.recipes import judge
from lockswap.recipes.recipe import KINDS, Recipe
from lockswap.records.folder import RawWriter
from lockswap.records.row import AVAILABLE_LIMIT, GIVEN_UP, NUMBER_COLUMNS, STEAL_LIMIT, Row
from lockswap.records.scrub import scrub
from lockswap.records.status import CRASHED, FAILED, HUNG, NO_LOCK, OK, SKIPPED, WRONG
from lockswap.run import machine, runner
from lockswap.run.outcome import Outcome

# A combination that hangs or fails so often is not tried again.
GIVE_UP = {HUNG: 1, CRASHED: 3, FAILED: 3, WRONG: 3, SKIPPED: 1}


def carry_out(plan: Plan, watcher: Watcher) -> bool:
    """Run it all; False if it was interrupted. What was measured is on disk in either case."""
    return _Execution(plan, watcher).run()


class _Execution:
    def __init__(self, plan: Plan, watcher: Watcher) -> None:
        self.plan = plan
        self.watcher = watcher
        self.began = time.monotonic()
        self.notes: list[str] = []
        self.failed: Counter = Counter()
        self.estimate = TimeEstimate(plan.jobs)
        self.checks: list[dict[str, Any]] = []
        self.unfit: dict[tuple[str, str], tuple[str, str]] = {}
        self.available: float | None = None
        self.jobs = {job.recipe.name: job for job in plan.jobs}
        self.runs = 0
        self.spent_s = 0.0  # seconds of measuring before the campaign was interrupted

    def run(self) -> bool:
        plan = self.plan
        earlier = plan.folder.rows()  # of an interrupted campaign that goes on
        if earlier:
            self.began -= max(map(_ended_s, earlier))
            self.spent_s = max(map(_ended_s, earlier)) - min(row.numbers.get("started_s", 0) for row in earlier)
            self.runs = max(row.run for row in earlier)
            self.checks = plan.folder.checks()
            self.failed.update((row.workload, row.threads, row.lock, row.status) for row in earlier)
        plan.write_about(False, [])
        rounds = plan.rounds(earlier)
        metrics = dict.fromkeys(metric.name for job in plan.jobs for metric in job.recipe.metrics)
        raw = RawWriter(plan.folder, metrics)
        finished, failure = False, None
        try:
            self._prepare()
            self._check_all(rounds)
            self._warm_up(rounds)
            self._measure_all(rounds, raw)
            self._trace_all()
            finished = True
        except KeyboardInterrupt:
            missing = "later rounds" if any(rounds.left().values()) else "traces"
            self.notes.append(f"interrupted: {missing} are missing")
        except UserError as error:
            failure = error
            self.notes.append(f"ended: {scrub(str(error))}")
        finally:
            raw.close()
        if failure is not None:
            with contextlib.suppress(UserError):  # the disk is full; what campaign.toml says is still true
                plan.write_about(False, self.notes)
            resume = f"continue with 'lockswap compare --resume {plan.folder.path}'"
            raise UserError(f"{failure}; {resume}") from failure
        plan.write_about(finished, self.notes)
        return finished

    def _prepare(self) -> None:
        """Build what is not there, and see what cannot run at all."""
        for job in self.plan.jobs:
            problem = None if job.user_command else self._build(job.recipe) or lacks_room(job.recipe)
            if problem:
                self.watcher.says(f"{job.recipe.name}: {problem}")
                for lock in job.locks:
                    self.unfit[job.recipe.name, lock] = (SKIPPED, problem)
                continue
            others = [lock for lock in job.locks if Choice.of(lock).variables and not job.kinds(lock)]
            if others:
                takes = job.recipe.takes
                text = f"takes only {words(KINDS[kind] for kind in takes)}, as its recipe says; "
                text += f"{words(f'--{kind}' for kind in takes)} chooses what they are swapped for"
                self.watcher.says(f"{job.recipe.name}: {text}; it is not measured with {words(others)}")
                self.unfit |= {(job.recipe.name, lock): (NO_LOCK, text) for lock in others}

    def _build(self, recipe: Recipe) -> str | None:
        paths = self.plan.setup.paths
        if recipe.program_present(paths.apps):
            return None
        self.watcher.starts(f"building {recipe.missing_program(paths.apps)} for {recipe.name}", None)
        return build(paths, recipe, self.watcher.says)

    def _check_all(self, rounds: Rounds) -> None:
        """Count, with each lock, whether the workload takes it."""
        wanted = {name for (name, _), turns in rounds.left().items() if turns}
        pairs = [(name, lock) for name, job in self.jobs.items() if name in wanted for lock in job.locks]
        remaining = [pair for pair in pairs if pair not in self.unfit]
        for index, (name, lock) in enumerate(remaining):
            rest = [self.jobs[other].recipe for other, _ in remaining[index:]]
            self.watcher.starts(f"counting {name} with {lock}", self._left_s(rounds, checks=rest))
            self._check(self.jobs[name], lock)
            self.plan.folder.write_checks(self.checks)

    def _check(self, job: Job, lock: str) -> None:
        plan, check = self.plan, job.recipe.lock_check
        # The user's own command runs as it will be measured; a recipe says how it wants to be checked.
        threads = job.threads[0] if job.user_command else check.threads
        seconds = job.seconds if job.user_command else check.seconds
        began = time.monotonic()
        if plan.probe and job is plan.jobs[0] and lock in (PTHREAD, MUTEX_PTHREAD):
            outcome = plan.probe  # it was that run
            self.estimate.saw_check(job.recipe, outcome.usage.get("wall_s", 0.0))
        else:
            outcome = runner.measure(
                plan.setup,
                job.recipe_under(lock),
                lock,
                threads,
                seconds,
                {**job.params_under(lock), **check.params},
                count=bool(Choice.of(lock).variables) and bool({RWLOCK, MUTEX} & set(job.recipe.takes)),
                cwd=plan.cwd if job.user_command else None,
            )
            self.estimate.saw_check(job.recipe, time.monotonic() - began)
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
            if status == OK:
                problem = judge.lock_check_failure(check, counts, outcome.output, job.kinds(lock), job.user_command)
                if Choice.of(lock).policy is not None:
                    entry["caught"] = counts.caught
                    problem = problem or (None if counts.caught else "no rule of the policy matched a lock")
                if problem:
                    status, detail = NO_LOCK, problem
        detail = scrub(detail, plan.setup.paths.root)
        entry |= {"status": status, "detail": detail}
        self.checks.append(entry)
        if status == OK:
            return
        self.watcher.says(f"{job.recipe.name} with {lock}: {status}: {detail}")
        self._keep_output(f"check-{job.recipe.name}-{lock}", outcome)
        if status in (NO_LOCK, SKIPPED):
            self.unfit[job.recipe.name, lock] = (status, detail)
        # A crash, hang or wrong result may depend on the thread count: the measured runs will show.

    def _warm_up(self, rounds: Rounds) -> None:
        """Runs that fill caches: without lockswap, so that no lock is the one that found them cold."""
        for (name, threads), turns in rounds.left().items():
            job = self.jobs[name]
            if not turns or (name, NONE) in self.unfit:
                continue
            for number in range(1, self.plan.warmup + 1):
                what = f"warm-up {number}/{self.plan.warmup}: {name}, {plural(threads, 'thread')}"
                self.watcher.starts(what, self._left_s(rounds))
                cwd = self.plan.cwd if job.user_command else None
                outcome = runner.measure(self.plan.setup, job.recipe, NONE, threads, job.seconds, job.params, cwd=cwd)
                if outcome.status != OK:
                    self.watcher.says(f"{what}: {outcome.status}: {outcome.detail}")

    def _measure_all(self, rounds: Rounds, raw: RawWriter) -> None:
        began = time.monotonic() - self.spent_s
        budget = self.plan.budget_s
        current: tuple[int, Key] | None = None
        for turn in rounds:
            if budget and turn.round > 1 and (turn.round, turn.key) != current:
                current = turn.round, turn.key
                locks = self.jobs[turn.workload].locks
                expected = self.estimate.expect(turn.key) or 0.0
                if time.monotonic() - began + expected * (len(locks) + 1) > budget:
                    self.notes.append(f"the budget of {budget / 60:g} min was spent")
                    return
            what = f"{turn.workload}, {plural(turn.threads, 'thread')}, {turn.lock}"
            of = "" if self.plan.until else f"/{self.plan.repeats}"
            self.watcher.starts(f"round {turn.round}{of}: {what}", self._left_s(rounds, began))
            row = self._measure(turn)
            raw.add(row)
            rounds.add(row)
            left = self._left_s(rounds, began)
            self.watcher.done(self.estimate.spent / (self.estimate.spent + left) if left else 1.0, left)

    def _left_s(self, rounds: Rounds, began: float | None = None, checks: Iterable[Recipe] = ()) -> float | None:
        """A guess of the seconds until all is measured, or the budget is spent; None if there is none yet."""
        left = self.estimate.left({key: turns * self._fit(key) for key, turns in rounds.left().items()}, checks)
        budget = self.plan.budget_s
        if budget is None or left is None:
            return left
        return min(left, max(0.0, budget - (time.monotonic() - began if began else 0)))

    def _fit(self, key: Key) -> float:
        """The share of a round's turns that are run at all, and so take time."""
        name, threads = key
        entries = [*self.jobs[name].locks, NONE]
        turns = [Turn(0, name, threads, lock) for lock in entries]
        runs = [turn for turn in turns if (name, turn.lock) not in self.unfit and not self._given_up(turn)]
        return len(runs) / len(entries)

    def _measure(self, turn: Turn) -> Row:
        plan, job = self.plan, self.jobs[turn.workload]
        self.runs += 1
        row = Row(self.runs, turn.round, turn.workload, turn.lock, turn.threads, OK, second_run=turn.second_run)
        known = self.unfit.get((turn.workload, turn.lock)) or self._given_up(turn)
        if known:
            row.status, row.detail = known
            return row
        meter = plan.setup.paths.meter
        before = self.available if self.available is not None else machine.cpus_available(meter)
        load, ticks, began = os.getloadavg()[0], machine.Ticks.now(), time.monotonic()
        outcome = runner.measure(
            plan.setup,
            job.recipe_under(turn.lock),
            turn.lock,
            turn.threads,
            job.seconds,
            job.params_under(turn.lock),
            cwd=plan.cwd if job.user_command else None,
        )
        steal = machine.Ticks.now().steal_share_since(ticks)
        # The probe after this run is the one before the next.
        self.available = machine.cpus_available(meter)
        self.estimate.saw(turn.key, time.monotonic() - began)
        probes = [probe for probe in (before, self.available) if probe is not None]
        row.status, row.detail, row.metrics = outcome.status, outcome.detail, outcome.metrics
        row.numbers = {key: value for key, value in outcome.usage.items() if key in NUMBER_COLUMNS}
        row.numbers |= {"started_s": began - self.began, "load1": load, "steal_share": steal}
        if probes:
            row.numbers["cpus_available"] = min(probes)
        row.disturbed = int(steal > STEAL_LIMIT or (bool(probes) and min(probes) < AVAILABLE_LIMIT))
        if row.status != OK:
            row.detail = scrub(row.detail, plan.setup.paths.root)
            self.failed[row.workload, row.threads, row.lock, row.status] += 1
            self._keep_output(f"{row.run:05d}", outcome)
            where = f"{row.workload}, {plural(row.threads, 'thread')}, {row.lock}"
            self.watcher.says(f"{where}: {row.status}: {row.detail}")
        return row

    def _trace_all(self) -> None:
        """An extra run of every combination that runs well, under perf: not one of those that were measured."""
        plan, kinds = self.plan, self.plan.traces
        good = {(row.workload, row.threads, row.lock) for row in plan.folder.rows() if row.status == OK}
        cells = [(job, t, lock) for job in plan.jobs for t in job.threads for lock in job.locks if kinds]
        for job, threads, lock in cells:
            name = job.recipe.name
            files = {kind: plan.folder.trace(name, threads, lock, kind) for kind in kinds}
            if (name, threads, lock) not in good or all(file.exists() for file in files.values()):
                continue  # there already: an interrupted campaign goes on
            self.watcher.starts(f"tracing {name}, {plural(threads, 'thread')}, {lock}", None)
            cwd = plan.cwd if job.user_command else None
            outcome = runner.measure(
                plan.setup,
                job.recipe_under(lock),
                lock,
                threads,
                job.seconds,
                job.params_under(lock),
                cwd=cwd,
                trace=kinds,
            )
            if outcome.status != OK:
                self.watcher.says(f"{name}, {plural(threads, 'thread')}, {lock}, traced: {outcome.detail}")
            for kind, file in files.items():
                plan.folder.write_trace(file, outcome.traces.get(kind, f"No trace: {outcome.detail}\n"))

    def _given_up(self, turn: Turn) -> tuple[str, str] | None:
        for status, limit in GIVE_UP.items():
            times = self.failed[turn.workload, turn.threads, turn.lock, status]
            if times >= limit:
                often = "once" if times == 1 else f"{times} times"
                return SKIPPED, f"{GIVEN_UP}: {status} {often} before"
        return None

    def _keep_output(self, name: str, outcome: Outcome) -> None:
        output = outcome.output
        text = (
            f"$ {outcome.command}\n{outcome.status}: {outcome.detail}\n"
            f"--- stdout (end)\n{output.stdout[-4000:]}\n--- stderr (end)\n{output.stderr[-4000:]}\n"
        )
        if output.server:
            text += f"--- server (end)\n{output.server[-4000:]}\n"
        try:
            self.plan.folder.write_failure(name, scrub(text, self.plan.setup.paths.root))
        except UserError as error:  # the row of the run may find its place
            self.watcher.says(str(error))


def _ended_s(row: Row) -> float:
    return row.numbers.get("started_s", 0) + row.numbers.get("wall_s", 0)
