"""What the kernel says of the threads of a process while its recording is read: which ones sleep, and where."""

import time
from dataclasses import dataclass, field
from pathlib import Path

from lockswap.base.errors import UserError
from lockswap.base.process import ENDED
from lockswap.outside.calls import in_words
from lockswap.outside.target import FutexWait, Glimpse, Target
from lockswap.profile.attach import Attached, Task

_AT_LEAST_S = 0.02
_OF_GLIBC = (32, 33)  # its signals, which it catches itself


@dataclass
class Sleeper:
    """A thread that slept in one system call all the time."""

    glimpse: Glimpse
    where: str
    futex: FutexWait | None


@dataclass
class Seen:
    """All of these numbers are the process's own."""

    sleepers: dict[int, Sleeper] = field(default_factory=dict)
    others: set[int] = field(default_factory=set)  # threads that ran, or may have
    catches_signals: bool = False


class Watch:
    """From before the recording is read until afterwards: what slept has changed nothing meanwhile."""

    def __init__(self, attached: Attached) -> None:
        self._attached = attached
        self._began = time.monotonic()
        self._before: dict[int, Glimpse | None] = {}
        try:
            self.target: Target | None = Target(attached.pid)
        except UserError:
            self.target = None  # it may not be looked at so closely
            return
        self._before = {tid: self.target.glimpse(task.tid) for tid, task in attached.tasks().items()}

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *all_: object) -> None:
        if self.target is not None:
            self.target.__exit__(*all_)

    def end(self, tasks: dict[int, Task]) -> Seen | None:
        """None: nothing is known."""
        if self.target is None:
            return None
        time.sleep(max(0.0, self._began + _AT_LEAST_S - time.monotonic()))
        seen = Seen(catches_signals=_catches_signals(self._attached.pid))
        for tid, task in tasks.items():
            now = self.target.glimpse(task.tid)
            if now is None or now.state in ENDED:
                continue
            if now.call is not None and now.sleeps and now == self._before.get(tid):
                futex = self.target.futex_wait(now.call)
                seen.sleepers[tid] = Sleeper(now, in_words(self._attached.pid, now.call), futex)
            else:
                seen.others.add(tid)
        return seen


def _catches_signals(pid: int) -> bool:
    try:
        lines = Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines()
    except OSError:
        return True
    mask = next((int(line.split()[1], 16) for line in lines if line.startswith("SigCgt:")), -1)
    for number in _OF_GLIBC:
        mask &= ~(1 << (number - 1))
    return mask != 0
