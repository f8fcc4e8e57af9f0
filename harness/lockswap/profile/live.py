"""What the threads of a process hold and wait for, with names, and which one keeps which one waiting."""

import json
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from lockswap.base.errors import UserError
from lockswap.profile.attach import Attached
from lockswap.profile.names import Function, Names, site

EXCLUSIVE, SHARED = "exclusive", "shared"
DESTROY = "destroy"  # it destroys a condition variable, and waits for those that wait there
INITIALISED = ("once", "guard")  # what one thread initialises, and others wait for that
ENDED_BY_ANYBODY = ("cond", "semaphore", "barrier")
_BETWEEN_LOOKS_S = 0.02
_OF_A_THREAD = ("holds", "waits", "left", "signalled")
_NOT_HERE = "doesn't exist here"
OWNER = 8  # where a pthread mutex has its owner's thread id


@dataclass(frozen=True)
class Lock:
    kind: str
    address: int
    name: str
    is_variable: bool

    def __str__(self) -> str:
        if self.kind == "join":
            return f"a thread's exit, joined in {self.name}"
        if self.kind in INITIALISED:
            name = self.name.removeprefix("guard variable for ")
            return f"the initialisation {'of' if self.is_variable else 'in'} {name}"
        return f"{self.kind} {self.name}" if self.is_variable else f"{self.kind} {self.address:#x} of {self.name}"


@dataclass(frozen=True)
class Hold:
    lock: Lock
    mode: str
    age_ns: int  # -1: it was not timed
    place: Function | None  # where it was acquired; None: only its memory says that it is held


@dataclass(frozen=True)
class Wait:
    lock: Lock
    mutex: int
    mode: str
    age_ns: int
    has_deadline: bool
    stack: tuple[Function, ...]

    @property
    def place(self) -> Function:
        return site(list(self.stack)) or Function("(not known)")


@dataclass(frozen=True)
class Signal:
    address: int
    tid: int
    count: int
    age_ns: int
    reached_all_age_ns: int  # of the last one that reached all who waited; -1: there was none
    place: Function


@dataclass
class Thread:
    tid: int
    name: str
    state: str  # "": the thread has ended, or is not of this process
    holds: list[Hold] = field(default_factory=list)
    own: int = 0  # what pthread_self says there
    wait: Wait | None = None
    left: Wait | None = None  # the last call that it left without coming back
    stack: list[str] = field(default_factory=list)  # where it is now, if that was asked for
    process: int = 0  # another one
    gone: str = "has ended"  # why it isn't here, if it isn't
    is_elsewhere: bool = False  # in a process that goes on

    def __str__(self) -> str:
        if self.process:
            return f"thread {self.tid} of process {self.process}"
        return f"thread {self.tid} ({self.name})" if self.name else f"thread {self.tid}"


@dataclass
class State:
    pid: int
    program: str
    threads: dict[int, Thread]
    signals: dict[int, list[Signal]]  # by the condition variable's address
    unseen: int  # threads that have not called a lock function
    is_recorded: bool = True  # else it is what glibc's locks in the process's memory say
    note: str = ""
    handed: dict[int, Thread] = field(
        default_factory=dict
    )  # by a lock's address: the thread whose turn it is, and that can't take it
    nobody_left: list[int] = field(default_factory=list)  # all threads, if each waits until another one does something
    catches_signals: bool = False
    longest_stop_ns: int = 0  # of one of its threads, for its stack

    def holders(self, address: int) -> list[tuple[Thread, Hold]]:
        return [(one, hold) for one in self.threads.values() for hold in one.holds if hold.lock.address == address]

    def joined(self, wait: Wait) -> Thread | None:
        """None: it has called no lock function, so nothing is known of it."""
        return next((one for one in self.threads.values() if one.state and one.own == wait.lock.address), None)

    def waiters(self, address: int) -> list[tuple[Thread, Wait]]:
        return [(one, one.wait) for one in self.threads.values() if one.wait and one.wait.lock.address == address]

    def left(self, address: int) -> list[tuple[Thread, Wait]]:
        """The threads that have left their calls for this lock: under a lock with a queue, their turns never end."""
        return [(one, one.left) for one in self.threads.values() if one.left and one.left.lock.address == address]

    def is_signalled(self, wait: Wait) -> bool:
        """Whether its condition variable was signalled for it: one of several waiting threads may not be meant."""
        if wait.lock.kind != "cond" or wait.mode == DESTROY:
            return False
        return any(0 <= one.reached_all_age_ns <= wait.age_ns for one in self.signals.get(wait.lock.address, []))

    def blockers(self, thread: Thread) -> list[Thread]:
        """The threads without which it does not go on. None is known for a wait that any thread may end."""
        wait = thread.wait
        if wait is not None and self.is_signalled(wait):
            # It needs the mutex again. What it holds of a recursive one itself does not keep it.
            return [one for one, _ in self.holders(wait.mutex) if one is not thread]
        if wait is not None and wait.mode == DESTROY:
            return [one for one, other in self.waiters(wait.lock.address) if other.mode != DESTROY]
        if wait is None or wait.lock.kind in ENDED_BY_ANYBODY:
            return []
        if wait.lock.kind == "join":
            joined = self.joined(wait)
            return [joined] if joined is not None else []
        holders = self.holders(wait.lock.address)
        found = [one for one, hold in holders if wait.mode == EXCLUSIVE or hold.mode == EXCLUSIVE]
        if not found and wait.mode == SHARED:
            # Readers hold it, so a writer before this reader keeps it out.
            found = [one for one, other in self.waiters(wait.lock.address) if other.mode == EXCLUSIVE]
        if not holders:
            found += [one for one, _ in self.left(wait.lock.address)]
            handed = self.handed.get(wait.lock.address)
            found += [handed] if handed is not None and handed is not thread else []
        return list({one.tid: one for one in found}.values())

    def left_locked(self) -> list[tuple[Lock, Thread]]:
        """Locks that somebody waits for, held by a thread that isn't there to release them."""
        found = {}
        for thread in self.threads.values():
            for other in self.blockers(thread) if thread.wait else []:
                held = {hold.lock.address: hold.lock for hold in other.holds}
                lock = held.get(thread.wait.lock.address) or held.get(thread.wait.mutex)
                if lock is not None and not other.state and not other.is_elsewhere:
                    found[(lock.address, other.tid)] = (lock, other)
        return list(found.values())

    def has_deadline(self, thread: Thread) -> bool:
        """Whether its wait ends by itself. One that was signalled needs the mutex, and waits for that without end."""
        wait = thread.wait
        return wait is not None and wait.has_deadline and not self.is_signalled(wait)

    def cycles(self) -> list[list[Thread]]:
        """Deadlocks: each thread waits for the next one, and the last one for the first."""
        return [one for one in self.circles() if not any(self.has_deadline(thread) for thread in one)]

    def circles(self) -> list[list[Thread]]:
        """The same, and such as end, since a thread in them waits until a deadline."""
        found: dict[frozenset[int], list[Thread]] = {}
        for start in self.threads.values():
            path: list[Thread] = []
            self._walk(start, start, path, {}, found)
        return list(found.values())

    def _walk(self, start: Thread, now: Thread, path: list[Thread], seen: dict, found: dict) -> None:
        seen[now.tid] = True
        path.append(now)
        for other in self.blockers(now):
            if other.tid == start.tid:
                found.setdefault(frozenset(one.tid for one in path), list(path))
            elif other.tid not in seen:
                self._walk(start, other, path, seen, found)
        path.pop()

    def roots(self) -> list[tuple[Thread, int]]:
        """Threads that wait for no lock, and how many wait for them in the end; most first."""
        waiting: dict[int, set[int]] = {}
        for start in self.threads.values():
            todo, seen = [start], {start.tid}
            while todo:
                for other in self.blockers(todo.pop()):
                    if other.tid not in seen:
                        seen.add(other.tid)
                        todo.append(other)
            for tid in seen - {start.tid}:
                if not self.blockers(self.threads[tid]):
                    waiting.setdefault(tid, set()).add(start.tid)
        ranked = sorted(waiting.items(), key=lambda one: -len(one[1]))
        return [(self.threads[tid], len(others)) for tid, others in ranked]


def read(reader: Path, attached: Attached) -> State:
    done = subprocess.run([reader, "--live", attached.recording], capture_output=True, text=True)
    if done.returncode != 0:
        raise UserError(f"{done.stderr.strip()}; ask with the lockswap that the program was started with")
    processes = json.loads(done.stdout)["processes"]
    if not processes or processes[0]["pid"] != attached.inner_pid:
        # A forked child has its parent's file until it calls a lock function itself.
        return State(attached.pid, attached.program, {}, {}, len(attached.tasks()))
    return _state(attached, processes[0])


class _Named:
    """What a process says of its threads now, with names for the addresses in it."""

    def __init__(self, attached: Attached, process: dict) -> None:
        entries = [e for one in process["threads_now"] for key in _OF_A_THREAD for e in one[key]]
        self._classes = {one["class"]: one for one in process["locks"]}
        numbers = {entry["class"] for entry in entries if "class" in entry}
        used = [self._classes[number] for number in numbers if number in self._classes]
        wanted = {entry["stack"] for entry in entries if entry.get("stack")} | {one["stack"] for one in used}
        self._stacks = {one["id"]: one["frames"] for one in process["stacks"] if one["id"] in wanted}
        modules = [dict(one) for one in process["modules"]]
        self._callers = {entry["caller"]: _frame(attached, modules, entry["caller"]) for entry in entries}
        frames = [*self._stacks.values(), *([one] for one in self._callers.values())]
        self._known = {
            "pid": attached.pid,
            "made_code": attached.made_code(),
            "modules": modules,
            "locks": used,
            "stacks": [{"frames": one} for one in frames],
        }
        self._names = Names([self._known])

    def lock(self, entry: dict) -> Lock:
        one = self._classes.get(entry["class"])
        if one is None:
            return Lock("mutex", entry["address"], "(no room for its name)", False)
        if one["object"]:
            return Lock(one["kind"], entry["address"], self._names.variable(self._known, one["object"]), True)
        place = site(self._names.stack(self._known, self._stacks.get(one["stack"], [])))
        return Lock(one["kind"], entry["address"], str(place or "(not known)"), False)

    def place(self, entry: dict) -> Function:
        return site(self._names.frame(self._known, self._callers[entry["caller"]])) or Function("(not known)")

    def hold(self, entry: dict) -> Hold:
        return Hold(self.lock(entry), entry["mode"], entry["age_ns"], self.place(entry))

    def wait(self, entry: dict) -> Wait:
        frames = self._stacks.get(entry["stack"]) or [self._callers[entry["caller"]]]
        stack = tuple(self._names.stack(self._known, frames))
        return Wait(self.lock(entry), entry["mutex"], entry["mode"], entry["age_ns"], entry["has_deadline"], stack)

    def signal(self, entry: dict) -> Signal:
        ages = (entry["age_ns"], entry["reached_all_age_ns"])
        return Signal(entry["address"], entry["tid"], entry["count"], *ages, self.place(entry))

    def thread(self, one: dict, tasks: dict) -> Thread | None:
        """None: it has ended, and left nothing behind."""
        task = tasks.get(one["tid"])
        name = task.name if task else one["name"] or "?"
        thread = Thread(one["tid"], name, task.state if task else "", own=one["self"])
        thread.holds = [self.hold(entry) for entry in one["holds"]]
        if one["waits"] and task is not None:
            thread.wait = self.wait(one["waits"][-1])  # a signal handler's is the innermost
        if one["left"]:
            thread.left = self.wait(one["left"][-1])
        return thread if task is not None or thread.holds or thread.left else None


def _state(attached: Attached, process: dict) -> State:
    named, tasks = _Named(attached, process), attached.tasks()
    state = State(attached.pid, process["program"], {}, {}, 0)
    for one in process["threads_now"]:
        for signal in map(named.signal, one["signalled"]):
            state.signals.setdefault(signal.address, []).append(signal)
        thread = named.thread(one, tasks) if one["tid"] != 0 and one["process"] == 0 else None
        if thread is not None:
            state.threads[thread.tid] = thread
    state.unseen = len(tasks.keys() - state.threads.keys())
    waited = {one.wait.lock.address: one.wait.lock for one in state.threads.values() if one.wait}
    for one in process["threads_now"]:
        if one["process"] != 0:
            _add_parent_s(attached, state, named, one, waited)
    _ask_memory(attached, state, tasks)
    return state


def _add_parent_s(attached: Attached, state: State, named: _Named, one: dict, waited: dict[int, Lock]) -> None:
    """A thread that a process had which this one was forked from: nobody here releases what it held then."""
    found = Thread(one["tid"], "", "", own=one["self"], process=one["process"], gone=_NOT_HERE)
    owners = [None, found.tid]
    first = state.threads.get(attached.inner_pid)
    if first is not None and first.own == found.own:
        found.gone = f"forked this process, and is thread {first.tid} here"
        owners.append(first.tid)  # locks of ours follow their owner
    for entry in one["holds"]:
        lock = waited.get(entry["address"])
        if lock is None or (lock.kind == "mutex" and attached.word(lock.address + OWNER) not in owners):
            continue
        found.holds.append(Hold(lock, entry["mode"], entry["age_ns"], named.place(entry)))
    if found.holds:
        state.threads.setdefault(found.tid, found)


def _frame(attached: Attached, modules: list[dict], address: int) -> list[int]:
    found = attached.place(address)
    if found is None:
        return [-1, address]
    path, own = found
    for i, one in enumerate(modules):
        if one["path"] == path:
            return [i, own]
    modules.append({"path": path, "build_id": ""})
    return [len(modules) - 1, own]


def _ask_memory(attached: Attached, state: State, tasks: dict) -> None:
    """A mutex says itself which thread owns it: what was acquired out of the profile's sight, too."""
    waited = {one.wait.lock for one in state.threads.values() if one.wait and one.wait.lock.kind == "mutex"}
    for lock in waited:
        owner = attached.word(lock.address + OWNER)
        if not owner:
            continue
        if any(one.tid == owner for one, _ in state.holders(lock.address)):
            continue
        # A thread that waited for it may have it by now.
        if any(one.tid == owner for one, _ in state.waiters(lock.address)):
            continue
        time.sleep(_BETWEEN_LOOKS_S)
        if attached.word(lock.address + OWNER) != owner:
            continue
        for one in state.threads.values():
            one.holds = [hold for hold in one.holds if hold.lock.address != lock.address]
        task = tasks.get(owner)
        other = Thread(owner, task.name, task.state) if task else _stranger(attached, lock, owner)
        thread = state.threads.setdefault(owner, other)
        thread.holds.append(Hold(lock, EXCLUSIVE, -1, None))


def _stranger(attached: Attached, lock: Lock, tid: int) -> Thread:
    """The owner of a mutex, as its memory has it; no thread of this process has that number."""
    process = _process_of(tid)
    if attached.is_shared(lock.address):
        return Thread(tid, "", "", process=process, gone="is not of this process", is_elsewhere=True)
    return Thread(tid, "", "", process=process, gone=_NOT_HERE)


def _process_of(tid: int) -> int:
    """0: there is no such thread, or it isn't seen from here."""
    try:
        lines = Path(f"/proc/{tid}/status").read_text(errors="replace").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Tgid:")), 0)
