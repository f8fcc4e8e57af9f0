"""Carries out the plan of a campaign on the machines of a cluster: each workload on one of them, or on each."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from lockswap.base.errors import UserError
from lockswap.base.text import as_word, words
from lockswap.base.version import VERSION
from lockswap.campaign.parts import Part, Parts, merge
from lockswap.campaign.plan import Plan
from lockswap.campaign.request import Request
from lockswap.campaign.watcher import Watcher
from lockswap.cluster import connection
from lockswap.cluster.dispatch import Dispatch, Task
from lockswap.cluster.orders import Answer, Order
from lockswap.records.folder import SCHEMA

# The key of a part's campaign.toml: which of the request's workloads it has.
PART = "part"
# Says in campaign.toml that there is a cluster; its address is not written down, since it may have a host's name.
ON_CLUSTER = "on_cluster"
_ADDRESS = "ADDRESS"
RESUMED = f"--scheduler {_ADDRESS}"
# Options that are about the campaign and not about one part of it.
_OF_THE_WHOLE = ("each_machine", "fail_below")


def check(request: Request) -> None:
    """What can't be done on several machines is said before anything is started."""
    if request.each_machine and not request.scheduler:
        raise UserError("--each-machine needs a cluster: name its scheduler with --scheduler")
    named = request.locks or request.mutexes or request.conds or request.policies or request.ranges
    if request.scheduler and (request.command or request.server) and not named:
        raise UserError("--scheduler needs the locks to compare, as in --rwlock auto,ba or --mutex auto,mcs")


def check_resumed(path: Path, about: Mapping[str, Any], scheduler: str | None) -> None:
    if scheduler and ON_CLUSTER not in about:
        raise UserError(f"the campaign in {path} was started without a cluster: drop --scheduler")
    if ON_CLUSTER in about and not scheduler:
        raise UserError(f"the campaign in {path} was started on a cluster: add {RESUMED}")


def without_address(words: list[str]) -> list[str]:
    """A command line as it's written down."""
    before = [None, *words]
    return [
        _ADDRESS if last == "--scheduler" else re.sub(r"^(--scheduler=).*", rf"\g<1>{_ADDRESS}", word)
        for last, word in zip(before, words, strict=False)
    ]


def carry_out(plan: Plan, watcher: Watcher, scheduler: str, each_machine: bool) -> bool:
    """As execution.carry_out: False if it was interrupted. All parts that came are kept."""
    return _Campaign(plan, watcher, each_machine).run(scheduler)


class _Campaign:
    def __init__(self, plan: Plan, watcher: Watcher, each_machine: bool) -> None:
        self.plan, self.watcher, self.each_machine = plan, watcher, each_machine
        self.parts = Parts(plan.folder)
        self.names = [job.recipe.name for job in plan.jobs]
        self.cwd = str(Path.cwd())
        self.notes: list[str] = []

    def run(self, scheduler: str) -> bool:
        finished, problems = False, []
        try:
            with connection.client(scheduler) as client:
                self.watcher.starts("waiting for machines", None)
                machines = connection.Machines(client, self.watcher.says)
                joins = self._joins if self.each_machine else None
                dispatch = Dispatch(machines, self._order, self._keep, joins, self.watcher.says)
                problems = dispatch.run(self._first_tasks())
            self.notes += problems
            finished = not problems
        except KeyboardInterrupt:
            self.notes.append("interrupted: parts are missing")
        except OSError as error:  # Dask's errors of a connection are such
            problems = [f"the scheduler is gone ({type(error).__name__})"]
            self.notes += problems
        finally:
            self._merge(finished)
        if problems:
            how = f"--resume {as_word(self.plan.folder.path)} {RESUMED}"
            raise UserError(f"{words(problems)}; continue with 'lockswap compare {how}'")
        return finished

    def _first_tasks(self) -> list[Task]:
        """On each machine: those of machines that have begun before an interruption."""
        there = self.parts.all()
        if self.each_machine:
            return [task for machine in sorted({part.machine for part in there}) for task in self._joins(machine)]
        done = {part.workload for part in there}
        return [Task(name) for name in self.names if name not in done]

    def _joins(self, machine: str) -> list[Task]:
        done = {part.workload for part in self.parts.all() if part.machine == machine}
        return [Task(name, machine) for name in self.names if name not in done]

    def _order(self, task: Task) -> Order:
        """The part is a campaign that was interrupted before its first run; the worker resumes it."""
        plan, about = self.plan, self.plan.about
        jobs = [job for job in plan.jobs if job.recipe.name == task.name]
        request = {key: value for key, value in about["request"].items() if key not in _OF_THE_WHOLE}
        locks = list(dict.fromkeys(lock for job in jobs for lock in job.locks))
        part = {
            "schema": SCHEMA,
            **{key: value for key, value in about.items() if key != ON_CLUSTER},
            "request": request | {"seed": plan.seed},
            "finished": False,
            "locks": locks,
            PART: [task.name],
        }
        self.watcher.starts(f"measuring {task.name}", None)
        return Order(tomli_w.dumps(part), VERSION, self.cwd, about["settings"])

    def _keep(self, task: Task, machine: str, answer: Answer) -> None:
        self.parts.keep(task.name, machine, answer.files)
        parts = self.parts.all()
        self.watcher.says(f"{task.name} is measured on {machine}")
        machines = len({part.machine for part in parts}) if self.each_machine else 1
        self.watcher.done(min(1.0, len(parts) / (len(self.names) * machines)), None)
        self._merge(False)

    def _merge(self, finished: bool) -> None:
        parts: list[Part] = self.parts.all()
        about = self.plan.described(finished, self.notes)
        if parts:
            about.pop("planned_runs", None)  # of one machine
            merge(self.plan.folder, about, parts)
        else:
            self.plan.folder.write_campaign(about)
