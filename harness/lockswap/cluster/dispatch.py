"""Gives tasks to machines: one at a time to each, and again if a worker is lost. It knows nothing of Dask."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from lockswap.base.text import plural, words
from lockswap.cluster.orders import Answer, Order

# A task whose worker was lost so often may be what takes workers down.
MOST_LOSSES = 3
# How long tasks wait for a machine that was there, when nothing else is being done.
PATIENCE_S = 300.0
_LOOK_S = 1.0


@dataclass(frozen=True)
class Task:
    name: str  # of the workload
    machine: str | None = None  # that has to do it; None: any

    def __str__(self) -> str:
        return self.name if self.machine is None else f"{self.name} on {self.machine}"


class Lost(Exception):
    """The worker, or what it had measured, is gone."""


class Handle(Protocol):
    """A task that a worker has."""

    def is_over(self) -> bool:
        """Whether there is an answer, or never will be."""

    def answer(self) -> Answer:
        """Raises Lost."""

    def cancel(self) -> None:
        """Ends it on the worker, if that is there. Its answer is never taken."""


class Cluster(Protocol):
    def machines(self) -> Mapping[str, str]:
        """The machines that are there by their labels, and the address of a worker on each."""

    def start(self, address: str, order: Order) -> Handle: ...

    def wait(self, handles: Iterable[Handle], seconds: float) -> None:
        """Until one of them may be over, or the time has passed."""


@dataclass
class Dispatch:
    """`order` makes what a task's worker gets, `keep` takes what it sent, and `says` tells the user. `joins` says which
    tasks a machine has to do because it has come; None: none."""

    cluster: Cluster
    order: Callable[[Task], Order]
    keep: Callable[[Task, str, Answer], None]
    joins: Callable[[str], list[Task]] | None
    says: Callable[[str], None]
    patience_s: float = PATIENCE_S
    now: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self.todo: list[Task] = []
        self.running: dict[str, tuple[Task, Handle]] = {}  # by machine
        self.losses: Counter[Task] = Counter()
        self.unfit: defaultdict[Task, dict[str, str]] = defaultdict(dict)  # machines that can't do it, and why
        self.makeshift: dict[Task, tuple[str, Answer]] = {}  # kept if no machine has a better one
        self.seen: set[str] = set()
        self.problems: list[str] = []
        self.busy_at = self.now()

    def run(self, tasks: Iterable[Task]) -> list[str]:
        """Returns when all is done that can be done; what can't be is in the result, a sentence each."""
        self.todo = list(tasks)
        try:
            while True:
                there = self.cluster.machines()
                self._meet(there)
                self._collect()
                self._give(there)
                if self.running:
                    self.busy_at = self.now()
                elif not self._may_go_on(there):
                    return self.problems
                self.cluster.wait([handle for _, handle in self.running.values()], _LOOK_S)
        finally:
            for _, handle in self.running.values():
                handle.cancel()

    def _meet(self, there: Mapping[str, str]) -> None:
        for machine in there:
            if machine not in self.seen:
                self.seen.add(machine)
                wanted = self.joins(machine) if self.joins else []
                self.todo += [task for task in wanted if task not in self.todo]

    def _collect(self) -> None:
        for machine, (task, handle) in list(self.running.items()):
            if not handle.is_over():
                continue
            del self.running[machine]
            try:
                answer = handle.answer()
            except Lost:
                handle.cancel()
                self._lost(task, machine)
                continue
            if answer.problem:
                self.says(f"{task.name} can't be measured on {machine}: {answer.problem}")
                self.unfit[task][machine] = answer.problem
                if answer.files:
                    self.makeshift[task] = machine, answer
                self.todo.append(task)
            else:
                self.keep(task, machine, answer)

    def _lost(self, task: Task, machine: str) -> None:
        self.losses[task] += 1
        if self.losses[task] >= MOST_LOSSES:
            self.problems.append(f"{task}: its worker was lost {MOST_LOSSES} times, so it may take machines down")
            self.says(self.problems[-1])
            return
        self.says(f"the worker on {machine} was lost; {task.name} is measured again from its beginning")
        self.todo.insert(0, task)

    def _give(self, there: Mapping[str, str]) -> None:
        for machine, address in there.items():
            if machine in self.running:
                continue
            task = next((task for task in self.todo if self._fits(task, machine)), None)
            if task is not None:
                self.todo.remove(task)
                self.running[machine] = task, self.cluster.start(address, self.order(task))

    def _fits(self, task: Task, machine: str) -> bool:
        return task.machine in (None, machine) and machine not in self.unfit[task]

    def _may_go_on(self, there: Mapping[str, str]) -> bool:
        """Nothing runs: whether what is left may still find a machine."""
        for task in list(self.todo):
            # A task of one machine, or of machines that all refused it.
            if self.unfit[task] and (task.machine or set(there) <= set(self.unfit[task])):
                self.todo.remove(task)
                if task in self.makeshift:
                    self.keep(task, *self.makeshift[task])
                else:
                    self.problems.append(f"{task}: {words(dict.fromkeys(self.unfit[task].values()))}")
        if not self.seen and (self.todo or self.joins):  # a queue of jobs may take hours to begin
            self.says("waiting for the cluster's first worker")
            return True
        if not self.todo:
            return False
        if self.now() - self.busy_at < self.patience_s:
            return True
        self.problems.append(f"{plural(len(self.todo), 'task')} had no machine: {words(map(str, self.todo))}")
        return False
