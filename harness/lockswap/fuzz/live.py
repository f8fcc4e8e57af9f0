"""What the threads of a process under fuzz hold and wait for, by the table that they keep (fuzz/live.h)."""

import struct
import time
from dataclasses import replace

from lockswap.profile.attach import Attached, Task
from lockswap.profile.live import EXCLUSIVE, OWNER, SHARED, Hold, Lock, Signal, State, Thread, Wait
from lockswap.profile.names import Function, Names, frame_at, site

_FRAMES, _HELD, _SIGNALLED = 16, 16, 4
_SLOT = struct.Struct(f"<9Q{_FRAMES}QQ{3 * _HELD}QQ{4 * _SIGNALLED}Q")
_STRIDE = (_SLOT.size + 63) // 64 * 64
TABLE_BYTES = 512 * _STRIDE
_KINDS = {1: "mutex", 2: "rwlock", 3: "rwlock", 4: "cond", 5: "join"}
_TO_READ = 2


def points(table: bytes) -> bytes:
    """What changes with each lock call that any thread makes."""
    return b"".join(table[at : at + 16] for at in range(0, len(table) - 15, _STRIDE))


def state(pid: int, table: bytes, futexes: dict[int, int]) -> State:
    """`futexes`: the address that a thread sleeps on, by its id."""
    process = Attached(pid, needs_recording=False)
    tasks = process.tasks()
    slots = [one for one in _slots(table) if one.pid == process.inner_pid]
    named = _Named(process, slots, futexes)
    found = State(pid, process.program, {}, {}, 0)
    for slot in slots:
        for signal in named.signals(slot):
            found.signals.setdefault(signal.address, []).append(signal)
        if slot.tid in tasks or slot.held:
            found.threads[slot.tid] = named.thread(slot, tasks.get(slot.tid))
    found.unseen = len(tasks.keys() - found.threads.keys())
    return found


class _Slot:
    def __init__(self, words: tuple[int, ...]) -> None:
        thread, _, self.own, self.waits, self.object, self.mutex, deadline, self.since_ns, frames = words[:9]
        self.pid, self.tid = thread >> 32, thread & 0xFFFFFFFF
        self.has_deadline = bool(deadline)
        self.stack = words[9 : 9 + min(frames, _FRAMES)]
        held, signalled = words[9 + _FRAMES :][: 1 + 3 * _HELD], words[-4 * _SIGNALLED :]
        self.held = [held[1 + 3 * i : 4 + 3 * i] for i in range(min(held[0], _HELD))]
        given = words[-4 * _SIGNALLED - 1]
        self.signalled = [signalled[4 * i : 4 * i + 4] for i in range(min(given, _SIGNALLED))]


def _slots(table: bytes) -> list[_Slot]:
    read = (_SLOT.unpack_from(table, at) for at in range(0, len(table) - _SLOT.size + 1, _STRIDE))
    return [_Slot(words) for words in read if words[0]]


class _Named:
    """Names for all addresses of a process, looked up at once."""

    def __init__(self, process: Attached, slots: list[_Slot], futexes: dict[int, int]) -> None:
        self._process, self._futexes = process, futexes
        self._now = time.monotonic_ns()
        modules = process.modules()
        code = {address for one in slots for address in one.stack}
        code |= {caller for one in slots for _, caller, _ in one.held}
        code |= {caller for one in slots for _, caller, _, _ in one.signalled}
        objects = {one.object for one in slots} | {one.mutex for one in slots}
        objects |= {address for one in slots for address, _, _ in one.held}
        self._frames = {address: frame_at(modules, address) for address in code | objects}
        self._known = {
            "pid": process.pid,
            "made_code": process.made_code(),
            "modules": modules,
            "locks": [{"object": self._frames[address]} for address in objects if self._frames[address][0] >= 0],
            "stacks": [{"frames": [self._frames[address]]} for address in code],
        }
        self._names = Names([self._known])

    def _place(self, caller: int) -> Function:
        return site(self._names.frame(self._known, self._frames[caller])) or Function("(not known)")

    def _lock(self, kind: str, address: int) -> Lock:
        frame = self._frames[address]
        if frame[0] >= 0:
            return Lock(kind, address, self._names.variable(self._known, frame), True)
        return Lock(kind, address, "allocated memory", False)

    def signals(self, slot: _Slot) -> list[Signal]:
        return [
            Signal(address, slot.tid, 1, self._now - at, self._now - at if all_ else -1, self._place(caller))
            for address, caller, at, all_ in slot.signalled
        ]

    def thread(self, slot: _Slot, task: Task | None) -> Thread:
        found = Thread(slot.tid, task.name if task else "?", task.state if task else "", own=slot.own)
        for address, caller, mode in slot.held:
            kind = _KINDS.get(mode, "mutex")
            # What another thread has released stands here still.
            if kind == "mutex" and task and self._process.word(address + OWNER) not in (slot.tid, None):
                continue
            found.holds.append(Hold(self._lock(kind, address), _mode(mode), -1, self._place(caller)))
        if slot.waits in _KINDS and task is not None:
            found.wait = self._wait(slot)
        return found

    def _wait(self, slot: _Slot) -> Wait:
        frames = [self._frames[address] for address in slot.stack]
        stack = tuple(self._names.stack(self._known, frames))
        kind = _KINDS[slot.waits]
        lock = self._lock(kind, slot.object)
        if kind == "join":
            lock = replace(lock, name=str(site(list(stack)) or "(not known)"), is_variable=False)
        elif kind == "cond" and slot.mutex and self._futexes.get(slot.tid) == slot.mutex:
            lock = self._lock("mutex", slot.mutex)  # glibc's wait has been signalled, and needs the mutex
        age = max(0, self._now - slot.since_ns)
        return Wait(lock, slot.mutex, _mode(slot.waits), age, slot.has_deadline, stack)


def _mode(call: int) -> str:
    return SHARED if call == _TO_READ else EXCLUSIVE
