"""What a recording does not have of a process's waits, and the kernel says: once-flags and static variables that
another thread initialises, where a holder sleeps, and whether there is a thread left that could end a wait."""

import re
from dataclasses import dataclass
from itertools import takewhile

from lockswap.outside.calls import may_be_a_lock_s
from lockswap.outside.glibc import Waited, waited_for
from lockswap.outside.stacks import Stacks, is_libc, split
from lockswap.outside.target import Target
from lockswap.outside.unwind import Stack
from lockswap.profile.asleep import Seen, Sleeper, Watch
from lockswap.profile.attach import Attached, Task
from lockswap.profile.live import EXCLUSIVE, INITIALISED, OWNER, Hold, Lock, State, Thread, Wait
from lockswap.profile.names import site, without_starts
from lockswap.profile.places import Places
from lockswap.profile.symbolizer import Function

_MOST = 64  # threads that are looked at closely
_STACK = 1 << 18
_WORD = 8
_UNKNOWN = Function("(not known)")
_GUARD = re.compile(r"^guard variable for (.+)::[^:]+$")
_ARGUMENTS = re.compile(r"\(.*|<.*")


@dataclass
class _Closer:
    """Where a thread sleeps, and for what."""

    stack: Stack
    waited: Waited | None


def complete(attached: Attached, state: State, watch: Watch) -> None:
    tasks = attached.tasks()
    seen = watch.end(tasks)
    if seen is None or watch.target is None:
        return
    for tid, one in seen.sleepers.items():
        thread = state.threads.get(tid)
        if thread is not None and thread.wait is None:
            thread.state = f"sleeps in {one.where}"
    _Unseen(attached, state, watch.target, seen, tasks).add()
    state.nobody_left = _nobody_left(attached, state, seen)
    state.catches_signals = seen.catches_signals
    state.unseen = len(tasks.keys() - state.threads.keys())


class _Unseen:
    def __init__(self, attached: Attached, state: State, target: Target, seen: Seen, tasks: dict[int, Task]) -> None:
        self._attached, self._state, self._target, self._seen, self._tasks = attached, state, target, seen, tasks
        self._closer: dict[int, _Closer] = {}
        self._stacks: Stacks | None = None
        self._locks = {one.wait.lock.address: one.wait.lock for one in state.threads.values() if one.wait}

    def add(self) -> None:
        self._add_joined()
        self._look([tid for tid, one in self._seen.sleepers.items() if one.futex and self._waits_unseen(tid)])
        for tid, one in self._closer.items():
            if one.waited is not None and one.waited.kind != "futex":
                self._add_wait(tid, one.stack, one.waited)
        for lock in [lock for lock in self._locks.values() if lock.kind in INITIALISED]:
            tid = self._in_routine(lock.address) if lock.kind == "once" else self._in_function(lock)
            if tid and not any(lock.address == hold.lock.address for hold in self._thread(tid).holds):
                self._thread(tid).holds.append(Hold(lock, EXCLUSIVE, -1, None))
        _find_handed(self._attached, self._state, self._seen, self._tasks)
        # Where those sleep that keep others waiting.
        blocking = {other.tid for one in self._state.threads.values() for other in self._state.blockers(one)}
        blocking |= {one.tid for one in self._state.handed.values()}
        handed = self._state.handed.values()
        asleep = [self._thread(tid) for tid in sorted(blocking) if tid in self._seen.sleepers]
        self._look([one.tid for one in asleep if one.wait is None or one in handed])
        for tid, one in self._closer.items():
            if tid in blocking:
                frames = takewhile(lambda each: "lockswap::" not in each, map(str, self._outer(one.stack)))
                self._thread(tid).stack = list(frames)  # a handler's, without the call that it interrupted

    def _outer(self, stack: Stack) -> list[Function]:
        return self._places.stack(split(stack).outer)

    def _add_joined(self) -> None:
        """Threads that took no lock: the kernel has the number that a join waits for to become 0."""
        for tid, one in self._seen.sleepers.items():
            thread = self._state.threads.get(tid)
            if thread is None or thread.wait is None or thread.wait.lock.kind != "join" or one.futex is None:
                continue
            if self._state.joined(thread.wait) is None and one.futex.value in self._tasks:
                self._thread(one.futex.value).own = thread.wait.lock.address

    def _waits_unseen(self, tid: int) -> bool:
        thread = self._state.threads.get(tid)
        return thread is None or thread.wait is None

    def _thread(self, tid: int) -> Thread:
        task = self._tasks[tid]
        where = self._seen.sleepers[tid].where if tid in self._seen.sleepers else ""
        state = f"sleeps in {where}" if where else task.state
        return self._state.threads.setdefault(tid, Thread(tid, task.name, state))

    def _look(self, tids: list[int]) -> None:
        for tid in tids[:_MOST]:
            if tid not in self._closer:
                self._closer[tid] = self._look_at(tid, self._seen.sleepers[tid])
        addresses = {one.waited.address for one in self._closer.values() if one.waited is not None}
        self._places = Places(self._attached, [one.stack for one in self._closer.values()], addresses)

    def _look_at(self, tid: int, one: Sleeper) -> _Closer:
        if self._stacks is None:
            self._stacks = Stacks(self._target)
        stack = self._stacks.asleep(self._tasks[tid].tid, one.glimpse.call)
        if one.futex is None:
            return _Closer(stack, None)
        return _Closer(stack, waited_for(self._target, one.futex, split(stack).functions, self._tasks.keys()))

    def _add_wait(self, tid: int, asleep: Stack, waited: Waited) -> None:
        futex = self._seen.sleepers[tid].futex
        assert futex is not None
        stack = self._outer(asleep)
        address = waited.address
        if waited.kind == "join":
            joined = self._thread(waited.owner) if waited.owner in self._tasks else None
            if joined is not None and joined.own:
                address = joined.own
            elif joined is not None:
                joined.own = address
        variable = self._places.variable(address)
        new = Lock(waited.kind, address, variable or str(site(stack) or _UNKNOWN), bool(variable))
        lock = self._locks.setdefault(address, new)
        self._thread(tid).wait = Wait(lock, 0, waited.mode, -1, futex.has_deadline, tuple(stack))
        if waited.kind in ("mutex", "rwlock") and waited.owner in self._tasks:
            holder = self._thread(waited.owner)
            if all(hold.lock.address != address for hold in holder.holds):
                holder.holds.append(Hold(lock, EXCLUSIVE, -1, None))

    def _in_function(self, lock: Lock) -> int:
        """The only thread inside the function that a static variable belongs to; 0 if there is none, or more than one.

        While its guard is taken nobody is behind the variable, so a thread in there has not come to it or is the one.
        """
        found = _GUARD.match(lock.name)
        if found is None:
            return 0
        name = _plain(found[1])
        others = [tid for tid in self._seen.sleepers if self._not_waiting_for(tid, lock.address)]
        self._look([tid for tid in others if not self._recorded_stack(tid)])
        inside = []
        for tid in others:
            asleep = self._closer[tid].stack if tid in self._closer else None
            recorded = self._recorded_stack(tid)
            stack = recorded or (self._places.stack(asleep.frames) if asleep is not None else [])
            if any(_plain(one.name) == name for one in stack):
                inside.append(tid)
            elif not (
                self._is_whole(asleep) if asleep is not None else without_starts(list(recorded)) != list(recorded)
            ):
                return 0  # it may be this one
        return inside[0] if len(inside) == 1 and not self._seen.others else 0

    def _is_whole(self, stack: Stack) -> bool:
        """Without the frame pointer, which the kernel doesn't show, it may end too early."""
        if not stack.frames or is_libc(stack.frames[-1].file):
            return bool(stack.frames)
        named = self._places.stack(stack.frames)
        return bool(named) and named[-1].name in ("main", "_start")

    def _in_routine(self, once: int) -> int:
        """The thread that runs the routine of a pthread_once_t; 0: it isn't found.

        glibc has a clean-up handler on the stack meanwhile, with its function, the address and a 1.
        """
        found = []
        for tid, one in self._seen.sleepers.items():
            call = one.glimpse.call
            if call is None or not self._not_waiting_for(tid, once):
                continue
            stack = self._target.read(call.sp, _STACK)
            at = stack.find(once.to_bytes(_WORD, "little"))
            while at >= 0:
                is_followed = stack[at + _WORD : at + _WORD + 4] == b"\x01\0\0\0"
                is_aligned = (call.sp + at) % _WORD == 0 and at >= _WORD
                if is_aligned and is_followed and self._is_of_libc(stack[at - _WORD : at]):
                    found.append(tid)
                    break
                at = stack.find(once.to_bytes(_WORD, "little"), at + 1)
        return found[0] if len(found) == 1 else 0

    def _is_of_libc(self, function: bytes) -> bool:
        place = self._attached.place(int.from_bytes(function, "little"))
        return place is not None and is_libc(place[0])

    def _not_waiting_for(self, tid: int, address: int) -> bool:
        thread = self._state.threads.get(tid)
        return thread is None or thread.wait is None or thread.wait.lock.address != address

    def _recorded_stack(self, tid: int) -> tuple[Function, ...]:
        thread = self._state.threads.get(tid)
        return thread.wait.stack if thread is not None and thread.wait is not None else ()


def _plain(function: str) -> str:
    return _ARGUMENTS.sub("", function.replace("(anonymous namespace)", "{anonymous}"))


def _find_handed(attached: Attached, state: State, seen: Seen, tasks: dict[int, Task]) -> None:
    """Nobody holds the lock, threads sleep in their calls for it, and one that waited is in a signal handler.

    So it was handed to that one, or that one was woken for it.
    """
    waited = {one.wait.lock.address: one.wait.lock for one in state.threads.values() if one.wait}
    for lock in waited.values():
        if lock.kind not in ("mutex", "rwlock") or state.holders(lock.address) or state.left(lock.address):
            continue
        if lock.kind == "mutex" and attached.word(lock.address + OWNER) not in (None, 0):
            continue
        waiters = [one for one, _ in state.waiters(lock.address)]
        away = [one for one in waiters if _is_away(seen, tasks, one.tid)]
        if away and all(one.tid in seen.sleepers for one in waiters if one not in away):
            first = max(away, key=lambda one: one.wait.age_ns if one.wait else 0)
            first.state = f"sleeps in {seen.sleepers[first.tid].where}" if first.tid in seen.sleepers else first.state
            state.handed[lock.address] = first


def _is_away(seen: Seen, tasks: dict[int, Task], tid: int) -> bool:
    asleep = seen.sleepers.get(tid)
    if asleep is None:
        return tid in tasks and tasks[tid].state == "is stopped"
    return asleep.glimpse.call is not None and not may_be_a_lock_s(asleep.glimpse.call)


def _nobody_left(attached: Attached, state: State, seen: Seen) -> list[int]:
    """All threads of the process, if they all wait for each other in some way; else none.

    They slept in the same futex calls during the whole look, without a deadline, so no one can end another one's wait.
    """
    asleep = {
        tid
        for tid, one in seen.sleepers.items()
        if one.futex and not one.futex.has_deadline and not attached.is_shared(one.futex.address)
    }
    rest = (set(seen.sleepers) | seen.others) - asleep
    while True:  # a lock of ours may look at its word from time to time, and changes nothing by that
        more = {tid for tid in rest if _waits_for_one_of(state, tid, asleep)}
        if not more:
            break
        asleep |= more
        rest -= more
    return [] if rest else sorted(asleep)


def _waits_for_one_of(state: State, tid: int, asleep: set[int]) -> bool:
    thread = state.threads.get(tid)
    if thread is None or thread.wait is None or thread.wait.has_deadline or thread.wait.lock.kind == "cond":
        return False
    return any(one.tid in asleep for one in state.blockers(thread))
