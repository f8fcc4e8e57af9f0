"""Which machine does what, on a cluster of made-up workers: one at a time on each, nothing lost and nothing twice."""

from collections import Counter

import pytest

from lockswap.cluster.connection import Handle, Machines
from lockswap.cluster.dispatch import MOST_LOSSES, Dispatch, Lost, Task
from lockswap.cluster.orders import Answer, Order


class Run:
    """A task on a worker, which takes some steps of the clock."""

    def __init__(self, cluster: "Made", address: str, name: str) -> None:
        self.cluster, self.address, self.name = cluster, address, name
        self.ends = cluster.time + cluster.takes.get(address, 1)
        self.cancelled = False

    def is_over(self) -> bool:
        return self.cluster.time >= self.ends or self.address not in self.cluster.there

    def answer(self) -> Answer:
        assert not self.cancelled, "the answer of a task that was given up is taken"
        if self.address not in self.cluster.there:
            raise Lost
        problem = self.cluster.refuses.get((self.address, self.name), "")
        return Answer({} if problem.startswith("!") else {"raw.csv": b"1"}, problem.removeprefix("!"))

    def cancel(self) -> None:
        self.cancelled = True


class Made:
    """Workers by their addresses; a machine's label is the address without its number. `comes` and `goes`: at which
    time. `refuses`: with which problem; one that begins with '!' comes without files."""

    def __init__(self, *there: str) -> None:
        self.there, self.time = set(there), 0
        self.comes: dict[int, set[str]] = {}
        self.goes: dict[int, set[str]] = {}
        self.takes: dict[str, int] = {}
        self.refuses: dict[tuple[str, str], str] = {}
        self.runs: list[Run] = []

    def machines(self) -> dict[str, str]:
        return {address.rstrip("0123456789"): address for address in sorted(self.there, reverse=True)}

    def start(self, address: str, order: Order) -> Run:
        label = address.rstrip("0123456789")
        busy = [run for run in self.runs if run.address.startswith(label) and not run.is_over()]
        assert busy == [], f"{label} has two tasks at once"
        self.runs.append(Run(self, address, order.campaign))
        return self.runs[-1]

    def wait(self, handles, seconds) -> None:
        self.time += 1
        self.there |= self.comes.pop(self.time, set())
        self.there -= self.goes.pop(self.time, set())


class Kept(Counter):
    """How often an answer came, by workload and machine."""

    def take(self, task: Task, machine: str, answer: Answer) -> None:
        assert answer.files
        self[task.name, machine] += 1

    def workloads(self) -> Counter:
        found: Counter = Counter()
        for (name, _), count in self.items():
            found[name] += count
        return found


def dispatched(made: Made, names: str, each: bool = False) -> tuple[Kept, list[str], list[str]]:
    kept, said = Kept(), []
    dispatch = Dispatch(
        made,
        lambda task: Order(task.name, "", ""),
        kept.take,
        (lambda machine: [Task(name, machine) for name in names]) if each else None,
        said.append,
        patience_s=50,
        now=lambda: made.time,
    )
    problems = dispatch.run([] if each else [Task(name) for name in names])
    return kept, problems, said


def test_each_workload_is_measured_once_and_a_slow_machine_gets_few():
    made = Made("a1", "b1", "slow1")
    made.takes = {"slow1": 20}
    kept, problems, _ = dispatched(made, "uvwxyz")
    assert problems == [] and kept.workloads() == Counter("uvwxyz")
    assert sum(machine == "slow" for _, machine in kept) == 1


def test_two_workers_of_a_machine_take_one_task():
    made = Made("a1", "a2")
    kept, problems, _ = dispatched(made, "uvw")
    assert problems == [] and kept.workloads() == Counter("uvw")  # start() looks that they don't overlap


@pytest.mark.parametrize("when", range(1, 12))
def test_a_machine_that_is_lost_at_any_moment(when):
    made = Made("a1", "b1")
    made.takes = {"a1": 3, "b1": 4}
    made.goes = {when: {"b1"}}
    kept, problems, said = dispatched(made, "uvwxy")
    assert problems == [] and kept.workloads() == Counter("uvwxy")
    assert sum("was lost" in line for line in said) <= 1


def test_a_worker_that_comes_again_does_the_rest():
    made = Made("a1")
    made.takes = {"a1": 5}
    made.goes, made.comes = {3: {"a1"}}, {20: {"a2"}}
    kept, problems, said = dispatched(made, "uv")
    assert problems == [] and kept == {("u", "a"): 1, ("v", "a"): 1}
    assert said == ["the worker on a was lost; u is measured again from its beginning"]


def test_a_task_that_takes_workers_down_is_given_up():
    made = Made("a1")
    made.takes = {f"a{n}": 9 for n in range(1, 9)}
    for n in range(1, 6):
        made.goes[n * 6 - 4], made.comes[n * 6 - 3] = {f"a{n}"}, {f"a{n + 1}"}
    kept, problems, _ = dispatched(made, "u")
    assert not kept and problems == [f"u: its worker was lost {MOST_LOSSES} times, so it may take machines down"]


def test_every_machine_measures_everything_also_one_that_comes_late():
    made = Made("a1", "b1")
    made.takes, made.comes = {"a1": 3}, {4: {"c1"}}
    kept, problems, _ = dispatched(made, "uv", each=True)
    assert problems == []
    assert kept == Counter({(name, machine): 1 for name in "uv" for machine in "abc"})


def test_what_only_a_lost_machine_can_do_is_said_after_a_while():
    made = Made("a1", "b1")
    made.goes = {2: {"b1"}}
    made.takes = {"b1": 5}
    kept, problems, _ = dispatched(made, "uv", each=True)
    assert kept == {("u", "a"): 1, ("v", "a"): 1}
    assert problems == ["2 tasks had no machine: u on b and v on b"]
    assert made.time > 50


def test_another_machine_does_what_one_cannot():
    made = Made("a1", "b1")
    made.refuses = {("a1", name): "!it has lockswap 0.1.0" for name in "uv"}
    kept, problems, said = dispatched(made, "uv")
    assert problems == [] and kept == {("u", "b"): 1, ("v", "b"): 1}
    assert [line for line in said if line.endswith("can't be measured on a: it has lockswap 0.1.0")]


def test_skipped_runs_are_kept_if_no_machine_makes_them():
    made = Made("a1", "b1")
    made.refuses = {("a1", "u"): "its program is not installed"}
    kept, problems, _ = dispatched(made, "u")
    assert problems == [] and kept == {("u", "b"): 1}
    made = Made("a1", "b1")
    made.refuses = {(address, "u"): "its program is not installed" for address in ("a1", "b1")}
    kept, problems, _ = dispatched(made, "uv")
    assert problems == [] and kept.workloads() == Counter("uv")
    made = Made("a1", "b1")
    made.refuses = {("a1", "u"): "its program is not installed"}
    assert dispatched(made, "u", each=True)[:2] == ({("u", "a"): 1, ("u", "b"): 1}, [])


@pytest.mark.parametrize("each", [False, True])
def test_what_no_machine_can_do_is_said_at_once(each):
    made = Made("a1", "b1")
    made.refuses = {(address, "u"): "!no such program" for address in ("a1", "b1")}
    kept, problems, _ = dispatched(made, "uv", each)
    assert all(name == "v" for name, _ in kept) and kept
    assert made.time < 50 and all("no such program" in problem for problem in problems)
    assert len(problems) == (2 if each else 1)


@pytest.mark.parametrize("each", [False, True])
def test_a_queue_may_take_long_until_the_first_worker_comes(each):
    made = Made()
    made.comes = {500: {"a1"}}
    kept, problems, said = dispatched(made, "u", each)
    assert problems == [] and kept == {("u", "a"): 1}
    assert said[0] == "waiting for the cluster's first worker"


def test_where_nothing_is_left_to_do_no_worker_is_waited_for():
    assert dispatched(Made(), "") == (Kept(), [], [])


class Client:
    """As Dask's; `answers` of workers by their addresses."""

    def __init__(self, **answers: object) -> None:
        self.answers, self.asked = answers, []

    def scheduler_info(self, n_workers: int) -> dict:
        return {"workers": dict.fromkeys(self.answers)}

    def run(self, function, workers: list[str], on_error: str) -> dict[str, object]:
        self.asked += workers
        return {workers[0]: self.answers[workers[0]]}


def test_workers_are_asked_once_what_they_are_called_and_one_of_a_machine_is_taken():
    said: list[str] = []
    client = Client(a="one", b="two", c="one", d=ModuleNotFoundError("No module named 'lockswap'"))
    machines = Machines(client, said.append)
    assert machines.machines() == machines.machines() == {"one": "a", "two": "b"}
    assert client.asked == ["a", "b", "c", "d"]
    assert said == ["the worker at d can't be used (ModuleNotFoundError: No module named 'lockswap')"]
    del client.answers["a"]
    assert machines.machines() == {"one": "c", "two": "b"}


class Future:
    def __init__(self, status: str, error: Exception | None = None) -> None:
        self.status, self.error = status, error

    def done(self) -> bool:
        return self.status != "pending"

    def result(self, timeout: float) -> Answer:
        if self.error:
            raise self.error
        return Answer({"raw.csv": b""})

    def exception(self, timeout: float) -> Exception | None:
        return self.error


class KilledWorker(Exception):
    """Dask has one of that name."""


@pytest.mark.parametrize(
    ("future", "address", "is_over"),
    [(Future("pending"), "a", False), (Future("pending"), "gone", True), (Future("finished"), "gone", True)],
)
def test_a_task_is_over_if_its_worker_is_gone(future, address, is_over):
    assert Handle(Machines(Client(a="one"), print), address, future).is_over() is is_over


@pytest.mark.parametrize(
    "future",
    [Future("pending"), Future("lost"), Future("cancelled"), Future("error", KilledWorker()),
     Future("finished", OSError("its worker is gone"))],
)  # fmt: skip
def test_an_answer_may_be_lost(future):
    with pytest.raises(Lost):
        Handle(Machines(Client(), print), "gone", future).answer()


def test_what_goes_wrong_on_a_worker_is_its_problem():
    handle = Handle(Machines(Client(a="one"), print), "a", Future("error", TypeError("no such field")))
    assert handle.answer() == Answer(problem="TypeError: no such field")
