"""Whether the processes of a run get on, as ../../tiers/progress.h has it. How long they take by the clock doesn't
matter, since others may have the processors."""

import contextlib
import os
import time
from pathlib import Path

from lockswap.run.processes import Brood, Process

_LEAST_SHARE = 0.05  # of a processor; what merely polls needs less
_LOOK_S = 0.25  # between two looks, and before the first one: most waits are over sooner than that
_MOST_S = 2.0  # what one look counts as idle: if more has passed, it was us who didn't run
_TICKS_S = os.sysconf("SC_CLK_TCK")


class Progress:
    """Ends when the processes have hardly used a processor for `idle_s`, and didn't wait for one either, or have used
    one for `cpu_s` since it was made."""

    def __init__(self, brood: Brood, idle_s: float, cpu_s: float) -> None:
        self._brood, self._idle_s, self._cpu_s = brood, idle_s, cpu_s
        self._last_look = time.monotonic()
        self._seen: dict[Process, int] | None = None
        self._used = self._idle = self._busy = 0.0  # idle and busy: since they were last busy enough

    def is_over(self) -> bool:
        """To be asked now and then."""
        now = time.monotonic()
        if now - self._last_look < _LOOK_S:
            return False
        alive = self._brood.alive()
        ticks = {process: _ticks(process) for process in alive}
        before = ticks if self._seen is None else self._seen
        used = sum(max(0, n - before.get(process, 0)) for process, n in ticks.items()) / _TICKS_S
        self._used += used
        self._busy += now - self._last_look if any(map(_is_runnable, alive)) else used
        self._idle += min(now - self._last_look, _MOST_S)
        self._seen, self._last_look = ticks, now
        if self._busy >= _LEAST_SHARE * self._idle_s:
            self._busy = self._idle = 0.0
        return self._idle > self._idle_s or self._used > self._cpu_s


def _fields(stat: Path) -> list[str]:
    """Those after the name, from the state on; none if it has ended."""
    with contextlib.suppress(OSError):
        return stat.read_text(errors="replace").rpartition(") ")[2].split()
    return []


def _ticks(process: Process) -> int:
    return sum(map(int, _fields(Path(f"/proc/{process.pid}/stat"))[11:13]))


def _is_runnable(process: Process) -> bool:
    """Whether a thread of it runs, or would if it had a processor."""
    return any(_fields(task / "stat")[:1] == ["R"] for task in Path(f"/proc/{process.pid}/task").glob("*"))
