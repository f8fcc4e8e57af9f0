"""The way to a cluster: the only module that imports Dask, which an installation may lack."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any
from uuid import uuid4

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.cluster import worker
from lockswap.cluster.dispatch import Lost
from lockswap.cluster.orders import Answer, Order

LOCAL = "local"
_CONNECT_S = 10


class NoCluster(UserError):
    """Nothing was sent to a machine."""


def _cure(paths: Paths) -> str:
    """How to get Dask, as an imperative."""
    if paths.in_wheel:
        return "pip install 'lockswap[cluster]' (with pipx: pipx inject lockswap distributed)"
    if paths.installed_commit is None:
        return "./run.sh build"
    if paths.own_packages.is_dir():
        return f"pip install --target {paths.own_packages} distributed"
    return "install it for the system's Python (on Debian: apt-get install python3-distributed)"


@contextmanager
def client(address: str, threads: int = 1) -> Iterator[Any]:
    """Yields a Dask client for that scheduler. For LOCAL it starts a scheduler and a worker with that many threads."""
    if find_spec("distributed") is None:
        raise NoCluster(
            f"--scheduler needs the Python package distributed (Dask), which is missing: {_cure(Paths.find())}"
        )
    from distributed import Client, LocalCluster

    with _quietly():
        if address == LOCAL:
            with (
                LocalCluster(
                    n_workers=1, threads_per_worker=threads, processes=True, host="127.0.0.1", dashboard_address=None,
                    silence_logs="ERROR",
                ) as cluster,
                Client(cluster) as found,
            ):  # fmt: skip
                yield found
            return
        try:
            found = Client(address, timeout=_CONNECT_S)
        except (OSError, ValueError) as error:
            raise NoCluster(
                f"no Dask scheduler answers at '{address}' ({_first_line(error)}); start one with 'dask scheduler', or "
                f"use --scheduler {LOCAL}"
            ) from error
        with found:
            yield found


@contextmanager
def _quietly() -> Iterator[None]:
    """A worker that is lost is nothing to have a traceback for: the user gets a line of ours."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _is_of_cluster(error: Exception) -> bool:
    """Whether it says that a worker is gone, and not what went wrong on one."""
    return type(error).__name__ in ("KilledWorker", "NoValidWorkerError", "CommClosedError")


class Handle:
    """A task of ours that one worker has."""

    def __init__(self, cluster: "Machines", address: str, future: Any) -> None:
        self.cluster, self.address, self.future = cluster, address, future

    def is_over(self) -> bool:
        return self.future.done() or self.address not in self.cluster.addresses()

    def answer(self) -> Answer:
        if self.future.status == "error" and not _is_of_cluster(error := self.future.exception(timeout=_CONNECT_S)):
            return Answer(problem=f"{type(error).__name__}: {_first_line(error)}")
        if self.future.status != "finished":
            raise Lost
        try:
            return self.future.result(timeout=60)
        except Exception as error:  # the worker that had the answer is gone, whatever Dask calls that
            raise Lost from error

    def cancel(self) -> None:
        with suppress(Exception):  # the scheduler may be gone, too
            self.future.cancel(force=True)


class Machines:
    """The machines of a cluster, as `dispatch` sees them."""

    def __init__(self, found: Any, says: Callable[[str], None]) -> None:
        self.client, self.says = found, says
        self.labels: dict[str, str | None] = {}  # of workers, by their addresses; None: it can't be used

    def addresses(self) -> set[str]:
        return set(self._workers())

    def machines(self) -> dict[str, str]:
        there = self._workers()
        self.labels = {address: label for address, label in self.labels.items() if address in there}
        for address in there:
            if address not in self.labels:
                self._meet(address)
        found: dict[str, str] = {}
        for address, label in sorted(self.labels.items()):
            if label is not None:
                found.setdefault(label, address)
        return found

    def _meet(self, address: str) -> None:
        try:
            label = self.client.run(worker.machine, workers=[address], on_error="return").get(address)
        except Exception as error:  # such as that it can't import lockswap
            label = error
        if isinstance(label, str):
            self.labels[address] = label
        elif address in self._workers():  # else it has gone meanwhile
            self.labels[address] = None
            why = f"{type(label).__name__}: {_first_line(label)}" if isinstance(label, Exception) else "it is silent"
            self.says(f"the worker at {address} can't be used ({why})")

    def start(self, address: str, order: Order) -> Handle:
        future = self.client.submit(
            worker.measure,
            order,
            workers=[address],
            allow_other_workers=False,
            pure=False,
            key=f"lockswap-{uuid4().hex}",
        )
        return Handle(self, address, future)

    def wait(self, handles: Iterable[Handle], seconds: float) -> None:
        from distributed import wait

        futures = [handle.future for handle in handles]
        if not futures:
            time.sleep(seconds)
            return
        with suppress(TimeoutError):
            wait(futures, timeout=seconds, return_when="FIRST_COMPLETED")

    def _workers(self) -> list[str]:
        return list(self.client.scheduler_info(n_workers=-1)["workers"])


def run_all(found: Any, commands: list[list[str]]) -> Iterator[tuple[int, int, str]]:
    """Programs side by side, on all threads of all workers: the number of each in the list, its status and its output,
    as they end. Those of a lost worker run again elsewhere."""
    from distributed import as_completed

    numbers = {
        found.submit(worker.explore, command, pure=False, key=f"lockswap-{uuid4().hex}"): number
        for number, command in enumerate(commands)
    }
    for future in as_completed(numbers):
        if future.status != "finished":
            raise UserError(f"'{' '.join(commands[numbers[future]])}' can't be run: {_first_line(future.exception())}")
        yield numbers[future], *future.result()


def threads_of(found: Any) -> dict[str, int]:
    """Of each worker, by its address."""
    return {address: info["nthreads"] for address, info in found.scheduler_info(n_workers=-1)["workers"].items()}
