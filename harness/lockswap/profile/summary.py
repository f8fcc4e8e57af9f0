"""From what processes recorded to locks with names: one for each place or variable, over all processes."""

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from lockswap.profile.names import Function, Names, frame_at, site, start
from lockswap.profile.window import COUNTS, EXCLUSIVE, MODES, OF_LOCK, SHARED

LOCKS = ("mutex", "rwlock")
MEETINGS = ("semaphore", "barrier", "join")  # what threads wait at, and nobody holds
_OWN = "liblockswap.so"  # its probe for the cost of profiling is no lock of the program
_MOST = ("most_wait_ns", "most_hold_ns")
NOBODY = Function("(not known)")


@dataclass
class Mode:
    """Exclusive or shared acquisitions of a lock, of all threads. Histograms are {least ns of a bucket: count}."""

    acquisitions: int = 0
    contended: int = 0
    wait_ns: int = 0
    long_waits: int = 0
    timed_holds: int = 0
    hold_ns: int = 0
    split_holds: int = 0  # long holds whose thread's processor time is known
    split_ns: int = 0  # how long they were
    on_processor_ns: int = 0  # and how much of it the thread ran
    most_wait_ns: int = 0
    most_hold_ns: int = 0
    waits: Counter = field(default_factory=Counter)
    holds: Counter = field(default_factory=Counter)

    def add(self, one: dict) -> None:
        for name in COUNTS:
            setattr(self, name, getattr(self, name) + one[name])
        for name in _MOST:
            setattr(self, name, max(getattr(self, name), one[name]))
        self.waits.update(dict(one["waits"]))
        self.holds.update(dict(one["holds"]))


@dataclass(frozen=True)
class Waited:
    """When the threads of one process waited for a lock."""

    begin_ns: int
    slot_ns: int
    waited_ns: list[int]


@dataclass(frozen=True)
class Side:
    """One side of a wait: a thread that waited, or the one whose release ended it."""

    mode: str
    stack: tuple[Function, ...]

    @property
    def site(self) -> Function:
        return site(list(self.stack)) or NOBODY


@dataclass
class Pair:
    """Holder here kept waiter there."""

    waiter: Side
    holder: Side
    waits: int = 0
    wait_ns: int = 0
    until_release_ns: int = 0
    most_ns: int = 0
    causes: list["Cause"] = field(default_factory=list)


@dataclass(frozen=True)
class Cause:
    """The holder waited itself meanwhile, for this long."""

    lock: "Lock"
    pair: Pair
    ns: int


@dataclass
class Lock:
    kind: str
    name: str
    place: Function  # where the first one of them was initialised, or else first taken
    by_init: bool
    rule: str = ""  # the words of a policy that catch it; nothing if its place is in no file
    objects: int = 0
    threads: int = 0
    failed_tries: int = 0
    timeouts: int = 0
    timed_out_ns: int = 0  # what those waited in vain
    signals: int = 0
    broadcasts: int = 0  # among the signals
    woken_with_all: int = 0  # waits that a broadcast ended
    woken_in_vain: int = 0  # those of them after which the thread waited again, without giving the mutex back
    modes: dict[str, Mode] = field(default_factory=lambda: {EXCLUSIVE: Mode(), SHARED: Mode()})
    pairs: dict[tuple, Pair] = field(default_factory=dict)
    timeline: list[Waited] = field(default_factory=list)

    @property
    def wait_ns(self) -> int:
        return sum(mode.wait_ns for mode in self.modes.values())

    @property
    def contended(self) -> int:
        return sum(mode.contended for mode in self.modes.values())

    @property
    def acquisitions(self) -> int:
        return sum(mode.acquisitions for mode in self.modes.values())

    @property
    def waits(self) -> Counter:
        return self.modes[EXCLUSIVE].waits + self.modes[SHARED].waits

    @property
    def most_wait_ns(self) -> int:
        return max(mode.most_wait_ns for mode in self.modes.values())

    def by_sites(self) -> list[Pair]:
        """Pairs of sites, of whichever stacks; the longest waits first."""
        merged: dict[tuple, Pair] = {}
        for pair in self.pairs.values():
            sides = [Side(side.mode, (side.site,)) for side in (pair.waiter, pair.holder)]
            _add(merged.setdefault(tuple(sides), Pair(*sides)), pair)
        return sorted(merged.values(), key=lambda pair: -pair.wait_ns)


@dataclass(frozen=True)
class Unfinished:
    """A wait that had not ended when the process, or the look at it, did."""

    lock: Lock
    mode: str
    pid: int
    tid: int
    after_start_ns: int  # when it began
    age_ns: int | None  # None: nobody knows when the process ended
    stack: tuple[Function, ...]
    circle: tuple[int, ...] = ()  # the threads of the deadlock that it is in: each waits for the next one

    @property
    def site(self) -> Function:
        return site(list(self.stack)) or NOBODY


@dataclass(frozen=True)
class KeptWait:
    """A wait that was recorded on its own. Times are CLOCK_MONOTONIC."""

    lock: Lock
    pair: Pair
    pid: int
    tid: int
    begin_ns: int
    end_ns: int
    holder_tid: int  # 0: not known
    kept_since_ns: int  # since when that thread's hold kept others waiting; 0: not known, or it was no hold
    released_ns: int


@dataclass
class Profile:
    run: object
    threshold_ns: int
    locks: list[Lock]  # mutexes and rwlocks, the longest waits first
    conds: list[Lock]
    meetings: list[Lock]
    processes: list[dict]
    changed: list[str]  # files that are not what ran any more
    unfinished: list[Unfinished] = field(default_factory=list)  # the longest first
    kept_waits: list[KeptWait] = field(default_factory=list)

    @property
    def wait_ns(self) -> int:
        return sum(lock.wait_ns for lock in self.locks)

    @property
    def recorded_s(self) -> float | None:
        """From the first process's start to the last thing that any of them recorded."""
        if not self.processes:
            return None
        last, first = (f(one[key] for one in self.processes) for f, key in ((max, "last_ns"), (min, "started_ns")))
        return (last - first) / 1e9

    @property
    def is_window(self) -> bool:
        return any("begin_ns" in one for one in self.processes)

    @property
    def dropped(self) -> Counter:
        return sum((Counter(one["dropped"]) for one in self.processes), Counter())

    @property
    def cost_ns(self) -> float:
        """An estimate, from what each process measured at its start."""
        pairs = sum(
            one["cost"]["pair_ns"] * lock[mode]["acquisitions"]
            for one in self.processes
            for lock in one["locks"]
            for mode in MODES
            if mode in lock
        )
        return pairs + sum(one["cost"]["unwind_ns"] + one["cost"]["start_ns"] for one in self.processes)


class _Summary:
    """The locks of all processes, which come one after the other."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self.locks: dict[tuple, Lock] = {}
        self.unfinished: list[Unfinished] = []
        self.kept_waits: list[KeptWait] = []

    def add(self, process: dict, frames: dict[int, list[int]]) -> None:
        """`frames` are those of _first_frames."""
        stacks = {stack["id"]: tuple(self._names.stack(process, stack["frames"])) for stack in process["stacks"]}
        process["locks"] = [lock for lock in process["locks"] if not is_probe(process, lock)]
        by_class = {one["class"]: self._add_lock(process, one, stacks) for one in process["locks"]}
        circles = {tid: tuple(circle) for circle in process.get("deadlocks", []) for tid in circle}
        for tid, one in _waits_now(process):
            if lock := by_class.get(one["class"]):
                stack = stacks.get(one["stack"]) or tuple(self._names.frame(process, frames[one["caller"]]))
                who = (lock, one["mode"], process["pid"], tid)
                since = (one["after_start_ns"], _age(process, one))
                self.unfinished.append(Unfinished(*who, *since, stack, circles.get(tid, ())))
        numbered = {
            one["pair"]: (lock, _add_pair(lock, one, stacks))
            for one in process["pairs"]
            if (lock := by_class.get(one["class"]))
        }
        for one in process["chains"]:
            if one["pair"] in numbered and one["cause"] in numbered:
                numbered[one["pair"]][1].causes.append(Cause(*numbered[one["cause"]], one["ns"]))

        began = process["started_ns"]
        for begin, end, kept_since, released, pair, tid, holder_tid in process["waits_kept"]:
            if pair in numbered:
                hold = (began + kept_since, began + released) if kept_since else (0, 0)
                who = (*numbered[pair], process["pid"], tid)
                self.kept_waits.append(KeptWait(*who, began + begin, began + end, holder_tid, *hold))

    def _add_lock(self, process: dict, one: dict, stacks: dict[int, tuple]) -> Lock:
        place = site(list(stacks.get(one["stack"], ()))) or NOBODY
        name = self._names.variable(process, one["object"]) if one["object"] else str(place)
        new = Lock(one["kind"], name, place, one["by_init"], _rule(process, one, name))
        lock = self.locks.setdefault((one["kind"], name), new)
        _count(lock, one)
        if any(one["timeline"]["waited_ns"]):
            lock.timeline.append(Waited(process["started_ns"], **one["timeline"]))
        return lock


def _add_pair(lock: Lock, one: dict, stacks: dict[int, tuple]) -> Pair:
    waiter = Side(one["waiter_mode"], stacks.get(one["waiter"], ()))
    holder = Side(one["holder_mode"], stacks.get(one["holder"], ()))
    if lock.kind == "join":  # the ended thread's first function says who it was
        holder = Side(holder.mode, tuple(filter(None, [start(list(holder.stack))])))
    pair = lock.pairs.setdefault((waiter, holder), Pair(waiter, holder))
    _add(pair, Pair(waiter, holder, *(one[k] for k in ("waits", "wait_ns", "until_release_ns", "most_ns"))))
    return pair


def summarise(recorded: dict, run: object) -> Profile:
    processes = recorded["processes"]
    first_frames = [_first_frames(process) for process in processes]
    summary = _Summary(names := Names(processes))
    for process, frames in zip(processes, first_frames, strict=True):
        summary.add(process, frames)
    ranked = sorted(summary.locks.values(), key=lambda lock: (-lock.wait_ns - lock.timed_out_ns, -lock.acquisitions))
    return Profile(
        run,
        recorded.get("threshold_ns", 0),
        [lock for lock in ranked if lock.kind in LOCKS],
        [lock for lock in ranked if lock.kind == "cond"],
        [lock for lock in ranked if lock.kind in MEETINGS],
        processes,
        names.changed,
        sorted(summary.unfinished, key=lambda one: -(one.age_ns or 0)),
        summary.kept_waits,
    )


def quantile(histogram: Counter, share: float, most: int) -> float:
    """About: the middle of the bucket, which is half an octave wide. most: the greatest of all."""
    rank = share * sum(histogram.values())
    for begin in sorted(histogram):
        rank -= histogram[begin]
        if rank <= 0:
            return min(most, begin * 1.2 if begin else 8)
    return 0


def _waits_now(process: dict) -> list[tuple[int, dict]]:
    """By the thread's number. A signal handler's wait is the innermost."""
    return [(one["tid"], one["waits"][-1]) for one in process["threads_now"] if one["tid"] and one["waits"]]


def _first_frames(process: dict) -> dict[int, list[int]]:
    """The calling frames, by address, of the waits now, which have no stack; they are looked up with the stacks."""
    callers = {one["caller"] for _, one in _waits_now(process)}
    found = {caller: frame_at(process["modules"], caller) for caller in callers}
    process["stacks"] += [{"id": -1, "frames": [frame]} for frame in found.values()]
    return found


def _age(process: dict, wait: dict) -> int | None:
    """How long it waited until the process ended, or was looked at."""
    if process.get("runs"):
        return wait["age_ns"]
    if process["ended"]:
        return max(0, process["last_ns"] - process["started_ns"] - wait["after_start_ns"])
    if (end_ns := process.get("exit_ns")) is not None:
        return max(0, wait["age_ns"] - (process["now_ns"] - end_ns))
    return None


def is_probe(process: dict, lock: dict) -> bool:
    """The lock by which the library finds out what profiling costs."""
    return bool(lock["object"]) and process["modules"][lock["object"][0]]["path"].endswith(f"/{_OWN}")


def _rule(process: dict, one: dict, name: str) -> str:
    """By the variable, else by the call that initialises the lock or is the first on it."""
    variable = name.split("+")[0]  # the object may be a part of it
    if one["object"] and re.fullmatch(r"\w+", variable):
        return f"module={Path(process['modules'][one['object'][0]]['path']).name} symbol={variable}"
    frames = next((stack["frames"] for stack in process["stacks"] if stack["id"] == one["stack"]), [])
    if not frames or frames[0][0] < 0:
        return ""
    return f"module={Path(process['modules'][frames[0][0]]['path']).name} site={frames[0][1]:#x}"


def _count(lock: Lock, one: dict) -> None:
    for name in ("objects", "threads", *OF_LOCK):
        setattr(lock, name, getattr(lock, name) + one[name])
    for mode in MODES:
        if mode in one:
            lock.modes[mode].add(one[mode])


def _add(pair: Pair, one: Pair) -> None:
    pair.waits += one.waits
    pair.wait_ns += one.wait_ns
    pair.until_release_ns += one.until_release_ns
    pair.most_ns = max(pair.most_ns, one.most_ns)
    pair.causes += one.causes
