"""Whether a run goes on: by lock calls, processor time and what its threads sleep in, not by how long it takes."""

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from lockswap.base.errors import UserError
from lockswap.base.text import in_seconds, plural
from lockswap.fuzz import live, steps
from lockswap.fuzz.outcome import Hang
from lockswap.outside.calls import ends_itself, name_of
from lockswap.outside.target import glimpse
from lockswap.profile import why_text
from lockswap.profile.live import State
from lockswap.profile.look import cpu_seconds
from lockswap.run import children

FAR_S = 300.0  # at least; a run that still does something then is called a hang, too
_TIMES_UNDISTURBED = 20
_BETWEEN_LOOKS_S = 0.5
_BETWEEN_LOOKS_OF_ONE_THREAD_S = 0.01
_NOBODY_IS_LEFT = "all threads wait, and nobody is left to wake them"
_NOBODY_LEFT_S = 2.0
_IDLE_S = 10.0
_UNTIL_A_DEADLINE_S = 60.0
_FIRST_LOOK_S = 2.0
_LITTLE = 0.01  # of a processor: what a thread uses that wakes up now and then to find nothing to do
_MOST_LINES = 60
_FOR_OTHERS = ("futex", "wait4", "waitid")  # calls that a thread or a process ends


@dataclass(frozen=True)
class Task:
    pid: int
    state: str
    call: str = ""  # "": none, or not known
    ends_itself: bool = False  # at a deadline
    futex: int = 0
    switches: str = ""


@dataclass(frozen=True)
class Watching:
    """How a run is watched."""

    table: Path
    log: Path | None  # of one thread at a time
    limit_s: float | None
    undisturbed_s: float
    with_places: bool = True

    def begin(self) -> None:
        """New files, without what the run before has left."""
        children.file_of(self.table).unlink(missing_ok=True)
        for file, size in ((self.table, live.TABLE_BYTES), (self.log, steps.LOG_BYTES)):
            if file is not None:
                file.unlink(missing_ok=True)
                with file.open("wb") as new:
                    new.truncate(size)

    @property
    def between_looks_s(self) -> float:
        between = _BETWEEN_LOOKS_S if self.log is None else _BETWEEN_LOOKS_OF_ONE_THREAD_S
        return min(between, self.limit_s or between)


class Watch:
    """Watches one run; call `look` from time to time."""

    def __init__(self, session: int, how: Watching) -> None:
        self._session, self._table, self._log = session, how.table, how.log
        self._limit_s, self._undisturbed_s, self._with_places = how.limit_s, how.undisturbed_s, how.with_places
        self._next_look_s = 0.0
        self._began = self._changed = time.monotonic()
        self._points, self._pids, self._cpu_s = b"", frozenset[int](), 0.0
        self._sleeps: dict[int, str] = {}
        self._next_search_s = _FIRST_LOOK_S
        self._suspected: set[frozenset[int]] = set()

    def look(self) -> Hang | None:
        passed = time.monotonic() - self._began
        if self._log is not None and steps.is_deadlock(self._log):
            # Perhaps there is a thread that has not come to a lock function yet.
            tasks = _tasks(self._session)
            if tasks and _nobody_is_left(tasks):
                return self._hang(_NOBODY_IS_LEFT, tasks)
        if passed < self._next_look_s:
            return None
        self._next_look_s = passed + _BETWEEN_LOOKS_S / 2
        tasks = _tasks(self._session)
        idle = self._idle_s(tasks)
        if self._limit_s is not None and passed >= self._limit_s:
            return self._hang(f"it had not ended after {in_seconds(self._limit_s)}", tasks)
        far = max(FAR_S, _TIMES_UNDISTURBED * self._undisturbed_s)
        if self._limit_s is None and passed >= far:
            return self._hang(f"it had not ended after {passed:.3g} s, though it went on", tasks)
        if (self._limit_s is None or passed >= _FIRST_LOOK_S) and (hang := self._deadlock(passed, tasks)):
            return hang
        if not tasks:
            return None
        # A limit may be that of the undisturbed run, of which it isn't known yet how long it sleeps.
        nobody_left_s = _NOBODY_LEFT_S if self._limit_s is None else _UNTIL_A_DEADLINE_S
        if idle >= max(nobody_left_s, 2 * self._undisturbed_s) and _nobody_is_left(tasks):
            return self._hang(_NOBODY_IS_LEFT, tasks)
        if self._limit_s is not None:
            return None
        waits = any(one.ends_itself and self._sleeps.get(tid) == one.switches for tid, one in tasks.items())
        least = _UNTIL_A_DEADLINE_S if waits else _IDLE_S
        if idle >= max(least, (6 if waits else 2) * self._undisturbed_s):
            return self._hang(f"no lock call and no processor time for {idle:.3g} s", tasks)
        return None

    def _idle_s(self, tasks: dict[int, Task]) -> float:
        """How long nothing has happened."""
        now = time.monotonic()
        points = live.points(_read(self._table))
        pids = frozenset(one.pid for one in tasks.values())
        cpu_s = sum(map(cpu_seconds, pids))
        used = cpu_s - self._cpu_s > max(0.02, _LITTLE * (now - self._changed))
        runs = any(one.state not in "SIt" for one in tasks.values())
        if used or runs or points != self._points or pids != self._pids:
            self._changed, self._points, self._pids, self._cpu_s = now, points, pids, cpu_s
            self._sleeps = {tid: one.switches for tid, one in tasks.items()}
        return now - self._changed

    def _deadlock(self, passed: float, tasks: dict[int, Task]) -> Hang | None:
        """Threads that wait in a cycle, in two looks, with nothing that has ended in between."""
        if passed < self._next_search_s:
            return None
        states = self._states(tasks)
        now = {
            frozenset((one.tid, one.wait.lock.address if one.wait else 0) for one in cycle)
            for state in states
            for cycle in state.cycles()
            if all(one.wait is not None and one.wait.age_ns >= 1e9 * _FIRST_LOOK_S / 2 for one in cycle)
        }
        known, self._suspected = self._suspected & now, now
        # Naming places costs seconds of processor time, so the looks become rare.
        self._next_search_s = passed + 0.5 if now else 2 * passed
        if not known:
            return None
        return Hang(_deadlocks(list(map(len, known))), _report(states))

    def _hang(self, how: str, tasks: dict[int, Task]) -> Hang:
        if not self._with_places:
            return Hang(how)
        states = self._states(tasks)
        if how == _NOBODY_IS_LEFT and (cycles := [one for state in states for one in state.cycles()]):
            how = _deadlocks(list(map(len, cycles)))
        return Hang(how, _report(states))

    def _states(self, tasks: dict[int, Task]) -> list[State]:
        found, table = [], _read(self._table)
        futexes = {tid: one.futex for tid, one in tasks.items()}
        for pid in sorted({one.pid for one in tasks.values()}):
            with contextlib.suppress(UserError, OSError):
                found.append(live.state(pid, table, futexes))
        return [one for one in found if one.threads]


def _deadlocks(sizes: list[int]) -> str:
    circles = "a deadlock" if len(sizes) == 1 else f"{len(sizes)} deadlocks"
    return f"{circles} of {plural(max(sizes), 'thread')}"


def _report(states: list[State]) -> str:
    return "\n".join(_first_lines(why_text.as_text(one)) for one in states if one.threads)


def _first_lines(text: str) -> str:
    lines = text.splitlines()
    more = [f"... {len(lines) - _MOST_LINES} lines more"] if len(lines) > _MOST_LINES else []
    return "\n".join(line.removeprefix("lockswap why: ") for line in [*lines[:_MOST_LINES], *more])


def _nobody_is_left(tasks: dict[int, Task]) -> bool:
    """Whether each thread waits for another thread, or for a process, of these. A signal could wake one all the same;
    those that have a timer wait for it in a thread of its own."""
    return all(one.state in "SI" and one.call in _FOR_OTHERS and not one.ends_itself for one in tasks.values())


def _tasks(session: int) -> dict[int, Task]:
    found = {}
    for folder in Path("/proc").glob("[0-9]*/task"):
        pid = int(folder.parent.name)
        try:
            tids = [int(one.name) for one in folder.iterdir()] if os.getsid(pid) == session else []
        except OSError:
            continue
        for tid in tids:
            if (task := _task(pid, tid)) is not None:
                found[tid] = task
    return found


def _task(pid: int, tid: int) -> Task | None:
    seen = glimpse(pid, tid)
    if seen is None or seen.state in "ZX":
        return None
    if seen.call is None:
        return Task(pid, seen.state, switches=seen.switches)
    name = name_of(seen.call)
    futex = seen.call.arguments[0] if name == "futex" else 0
    return Task(pid, seen.state, name, ends_itself(seen.call), futex, seen.switches)


def _read(table: Path) -> bytes:
    try:
        return table.read_bytes()
    except OSError:
        return b""
