"""Samples of a process that was started without lockswap: which threads wait for which lock, and where its owner is."""

import contextlib
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from lockswap.base.errors import UserError
from lockswap.base.process import has_ended
from lockswap.outside.glibc import Waited, owner_of, waited_for
from lockswap.outside.stacks import Stacks, split
from lockswap.outside.target import Call, FutexWait, Target
from lockswap.outside.unwind import Frame, Stack
from lockswap.profile.attach import Attached, Task

HELD = ("mutex", "rwlock")  # the kinds that say who holds them
LOCKS = (*HELD, "internal")
_RATE = 50.0  # samples a second
_OF_A_PROCESSOR = 0.25  # at most, for looking
_LONGEST_PAUSE_S = 0.2  # after a sample for which tables had to be read, say
_BETWEEN_OWNERS_S = 0.1
_BETWEEN_TASKS_S = 0.5
_MOST_NEW = 8  # waits whose function is found out in one sample
_WAITERS_OF = 3  # locks, of each of which a waiter's stack is taken in a sample


@dataclass
class Sampled:
    """A lock, and what was seen of it."""

    kind: str
    address: int
    samples: int = 0  # with a waiting thread
    waiters: int = 0  # in all samples together
    most: int = 0
    waited: set[int] = field(default_factory=set)  # threads
    owners: Counter[int] = field(default_factory=Counter)
    asleep: int = 0  # how often the owner was
    holds: Counter[tuple[Frame, ...]] = field(default_factory=Counter)
    waits: Counter[tuple[Frame, ...]] = field(default_factory=Counter)


@dataclass
class Sampling:
    program: str
    seconds: float = 0.0
    samples: int = 0
    locks: dict[tuple[str, int], Sampled] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)  # of threads
    has_ended: bool = False

    def stacks(self) -> Iterator[Stack]:
        for lock in self.locks.values():
            for frames in (*lock.holds, *lock.waits):
                yield Stack(frames, True)


class Sampler:
    def __init__(self, attached: Attached, target: Target, stacks: Stacks) -> None:
        self.attached = attached
        self._target = target
        self._stacks = stacks
        self._functions: dict[tuple[int, int, bool], list[str]] = {}
        self._tasks: dict[int, Task] = {}
        self._found = Sampling("")

    def run(self, seconds: float) -> Sampling:
        """May be called again, for what is seen from then on."""
        self._found = Sampling(self.attached.program)
        begin = time.monotonic()
        next_tasks = next_owner = begin
        while (now := time.monotonic()) < begin + seconds:
            if now >= next_tasks:
                if has_ended(self._target.pid):
                    self._found.has_ended = True
                    break
                self._renew()
                next_tasks = now + _BETWEEN_TASKS_S
            with_owner = now >= next_owner
            if with_owner:
                next_owner = now + _BETWEEN_OWNERS_S
            used = time.process_time()
            if not self._sample(with_owner):
                self._found.has_ended = True
                break
            used = time.process_time() - used
            until = now + max(1 / _RATE, min(used / _OF_A_PROCESSOR, _LONGEST_PAUSE_S))
            time.sleep(max(0.0, min(until, begin + seconds) - time.monotonic()))
        self._found.seconds = time.monotonic() - begin
        if self._found.samples == 0:
            raise UserError(f"process {self._target.pid} has just ended")
        return self._found

    def _renew(self) -> None:
        self._tasks = self.attached.tasks()
        self._found.names |= {tid: task.name for tid, task in self._tasks.items()}
        with contextlib.suppress(UserError):  # it has ended
            now = Attached(self._target.pid, needs_recording=False)
            if now.files() != self.attached.files():
                self.attached = now
                self._stacks.renew()

    def _sample(self, with_owner: bool) -> bool:
        """Returns false if the process has ended."""
        calls: dict[int, Call | None] = {}
        for tid, task in self._tasks.items():
            try:
                calls[tid] = self._target.call(task.tid)
            except OSError:
                continue
        if not calls:
            return False
        self._found.samples += 1
        now: dict[tuple[str, int], list[int]] = {}
        owners: dict[tuple[str, int], int] = {}
        new = 0
        for tid, call in calls.items():
            wait = self._target.futex_wait(call)
            if wait is None:
                continue
            functions = self._functions.get((wait.address, wait.command, wait.is_private))
            if functions is None:
                new += 1
                functions = self._functions_of(tid, call, wait) if new <= _MOST_NEW else None
            if functions is None:
                continue
            waited = waited_for(self._target, wait, functions, self._tasks.keys())
            if waited.kind == "join":
                continue
            key = (waited.kind, waited.address)
            now.setdefault(key, []).append(tid)
            if waited.kind in HELD and waited.owner:
                owners[key] = waited.owner
        for key, tids in now.items():
            self._count(key, tids, owners.get(key, 0), calls)
        hottest = sorted(now, key=lambda key: (key[0] in LOCKS, len(now[key])), reverse=True)
        for key in hottest[:_WAITERS_OF]:
            self._take_waiter(key, now[key], calls)
        if with_owner:
            self._take_owner([key for key in hottest if key in owners], owners)
        return True

    def _functions_of(self, tid: int, call: Call | None, wait: FutexWait) -> list[str] | None:
        """None: the thread went on before it was seen."""
        stack = self._stacks.asleep(self._tasks[tid].tid, call)
        if not self._is_still(tid, call):
            return None
        functions = split(stack).functions
        self._functions[(wait.address, wait.command, wait.is_private)] = functions
        return functions

    def _is_still(self, tid: int, call: Call | None) -> bool:
        try:
            return self._target.call(self._tasks[tid].tid) == call
        except OSError:
            return False

    def _count(self, key: tuple[str, int], tids: list[int], owner: int, calls: dict[int, Call | None]) -> None:
        lock = self._found.locks.setdefault(key, Sampled(*key))
        lock.samples += 1
        lock.waiters += len(tids)
        lock.most = max(lock.most, len(tids))
        lock.waited.update(tids)
        if owner:
            lock.owners[owner] += 1
            lock.asleep += calls.get(owner) is not None

    def _take_waiter(self, key: tuple[str, int], tids: list[int], calls: dict[int, Call | None]) -> None:
        tid = tids[self._found.samples % len(tids)]
        stack = self._stacks.asleep(self._tasks[tid].tid, calls[tid])
        if stack.frames and self._is_still(tid, calls[tid]):
            self._found.locks[key].waits[split(stack).outer] += 1

    def _take_owner(self, keys: list[tuple[str, int]], owners: dict[tuple[str, int], int]) -> None:
        """Takes the stack of the owner of the hottest lock, if it is a thread of this process that still owns it."""
        for key in keys:
            owner = owners[key]
            if owner not in self._tasks:
                continue
            lock = Waited(*key)
            stack = self._stacks.now(
                self._tasks[owner].tid, lambda lock=lock, owner=owner: owner_of(self._target, lock) == owner
            )
            if stack.frames:
                self._found.locks[key].holds[stack.frames] += 1
            return
