"""What runs on the workers of a cluster. Dask calls these functions there by their names."""

import csv
import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lockswap.base.paths import Paths
from lockswap.base.version import VERSION
from lockswap.cluster.orders import Answer, Order, label
from lockswap.records.status import SKIPPED

_LOOK_S = 0.2
# How `lockswap compare` may end with all that it measured: also if a lock failed, or if none could be measured.
_MEASURED = (0, 4)
# The command, whether or not this Python finds it by itself; the next argument has the folders in which this one does.
_LOCKSWAP = (
    *(sys.executable, "-P", "-c"),
    "import sys; sys.path[:] = sys.argv.pop(1).split(':'); from lockswap.__main__ import main; sys.exit(main())",
)
_STOP_S = 10.0  # until a program that was told to end is killed


class _Cancelled(Exception):
    """Nobody waits for this task any more."""


def machine(dask_worker: Any) -> str:
    """The name of the worker, if somebody gave it one; else a name that says nothing, and is the same for all workers
    of this machine until it starts again."""
    name = dask_worker.name  # Dask gives this parameter by its name
    if isinstance(name, str) and "://" not in name:
        return label(name)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"m-{hashlib.sha256(f'lockswap {boot}'.encode()).hexdigest()[:6]}"


def measure(order: Order) -> Answer:
    """Carries out the part, with nothing else of ours on this machine."""
    if order.version != VERSION:
        return Answer(problem=f"it has lockswap {VERSION}, not {order.version}; install the same version there")
    if not Path(order.cwd).is_dir():
        return Answer(problem=f"it has no folder {order.cwd}, in which the command runs")
    with tempfile.TemporaryDirectory(prefix="lockswap-") as place:
        folder = Path(place) / "part"
        folder.mkdir()
        (folder / "campaign.toml").write_text(order.campaign, encoding="utf-8")
        env = {name: value for name, value in _environment().items() if not _is_setting(name)} | order.settings
        command = [*_LOCKSWAP, ":".join(filter(None, sys.path)), "compare", "--resume", str(folder), "--no-report"]
        try:
            with _alone_on_machine(fcntl.LOCK_EX):
                status, said = _run(command, order.cwd, env)
        except _Cancelled:
            return Answer(problem="nobody waits for it any more")
        if status not in _MEASURED:
            return Answer(problem=_last_line(said) or f"lockswap ended with status {status}")
        files = [file for file in folder.rglob("*") if file.is_file()]
        sent = {str(file.relative_to(folder)): file.read_bytes() for file in files}
        return Answer(sent, _why_skipped(folder / "raw.csv"))


def explore(command: list[str]) -> tuple[int, str]:
    """The status and the output of a program that may run beside others like it, but not beside a measurement."""
    with _alone_on_machine(fcntl.LOCK_SH):
        return _run(command, None, _environment())


def _why_skipped(raw: Path) -> str:
    """Why no run was made, such as that the program isn't there; empty if one was."""
    with raw.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    if any(row["status"] != SKIPPED for row in rows):
        return ""
    return rows[0]["detail"] if rows else "it made no run"


def _environment() -> dict[str, str]:
    """This worker's, without what Dask adds: it changes malloc, and how many threads programs start."""
    from dask import config

    added: set[tuple[str, str]] = set()
    for table in ("environ", "pre-spawn-environ"):
        added |= {(name, str(value)) for name, value in (config.get(f"distributed.nanny.{table}", None) or {}).items()}
    return dict(set(os.environ.items()) - added)


def _is_setting(name: str) -> bool:
    return name.startswith("LOCKSWAP_") and name not in ("LOCKSWAP_HOME", "LOCKSWAP_BUILD")


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].removeprefix("lockswap: ") if lines else ""


@contextmanager
def _alone_on_machine(how: int) -> Iterator[None]:
    """Several workers of a machine, and several campaigns, take turns."""
    file = Path(tempfile.gettempdir()) / f"lockswap-{os.getuid()}.lock"
    fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    is_wanted = _still_wanted()
    try:
        while not _try_lock(fd, how):
            _pause(is_wanted)
        yield
    finally:
        os.close(fd)


def _try_lock(fd: int, how: int) -> bool:
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _run(command: list[str], cwd: str | None, env: dict[str, str]) -> tuple[int, str]:
    """It dies with this worker: the next one on this machine shall be alone there."""
    guarded = [str(Paths.find().meter), "guard", str(os.getpid()), *command]
    is_wanted = _still_wanted()
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(
            guarded, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            while child.poll() is None:
                _pause(is_wanted)
        finally:
            _end(child)
        output.seek(0)
        return child.returncode, output.read().decode(errors="replace")


def _end(child: subprocess.Popen) -> None:
    if child.poll() is not None:
        return
    child.terminate()  # so that it ends what it has started
    try:
        child.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _pause(is_wanted: Callable[[], bool]) -> None:
    time.sleep(_LOOK_S)
    if not is_wanted():
        raise _Cancelled


def _still_wanted() -> Callable[[], bool]:
    """Dask doesn't end a task that runs: it only stops to count it as one that should."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state not in ("cancelled", "released", "forgotten")

    return is_wanted
