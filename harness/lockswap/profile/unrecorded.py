"""The state of a process that was started without lockswap: what glibc's locks in its memory and the kernel say."""

import time
from dataclasses import dataclass
from pathlib import Path

from lockswap.outside.glibc import EXCLUSIVE, Waited, waited_for
from lockswap.outside.stacks import Stacks, split
from lockswap.outside.target import FutexWait, Glimpse, Target
from lockswap.outside.unwind import Stack
from lockswap.profile.attach import Attached, Task
from lockswap.profile.live import Hold, Lock, State, Thread, Wait
from lockswap.profile.names import site
from lockswap.profile.places import Places
from lockswap.profile.symbolizer import Function

_BETWEEN_LOOKS_S = 0.02
_UNKNOWN = Function("(not known)")


@dataclass
class _Seen:
    """A thread that slept in a futex call during the whole look."""

    tid: int  # the process's own number for it
    glimpse: Glimpse
    wait: FutexWait
    stack: Stack
    waited: Waited


def read(attached: Attached) -> State:
    with Target(attached.pid) as target:
        stacks = Stacks(target)
        tasks = attached.tasks()
        seen = _look(target, stacks, tasks)
        for one in seen:
            if not one.stack.is_whole:
                one.stack = stacks.now(tasks[one.tid].tid)
        owners = {one.waited.owner for one in seen} - {one.tid for one in seen}
        now = {tid: stacks.now(tasks[tid].tid) for tid in sorted(owners & tasks.keys())}
        unwound = [*(one.stack for one in seen), *now.values()]
        places = Places(attached, unwound, {one.waited.address for one in seen})
        state = _state(attached, tasks, seen, now, places)
        state.note = _note(stacks)
        state.longest_stop_ns = int(stacks.stops.longest_s * 1e9)
        return state


def _look(target: Target, stacks: Stacks, tasks: dict[int, Task]) -> list[_Seen]:
    """The threads that have not run between two glimpses, so that what was read meanwhile fits together."""
    found = []
    end = time.monotonic() + _BETWEEN_LOOKS_S
    for tid, glimpse in [(tid, target.glimpse(task.tid)) for tid, task in tasks.items()]:
        wait = target.futex_wait(glimpse.call) if glimpse is not None else None
        if glimpse is None or wait is None or not glimpse.sleeps:
            continue
        stack = stacks.asleep(tasks[tid].tid, glimpse.call)
        waited = waited_for(target, wait, split(stack).functions, tasks.keys())
        found.append(_Seen(tid, glimpse, wait, stack, waited))
    time.sleep(max(0.0, end - time.monotonic()))
    return [one for one in found if target.glimpse(tasks[one.tid].tid) == one.glimpse]


def _state(
    attached: Attached, tasks: dict[int, Task], seen: list[_Seen], now: dict[int, Stack], places: Places
) -> State:
    state = State(attached.pid, attached.program, {}, {}, 0, is_recorded=False)

    def thread(tid: int, is_private: bool = True) -> Thread:
        if tid not in state.threads:
            task = tasks.get(tid)
            if task is not None:
                state.threads[tid] = Thread(tid, task.name, task.state)
            else:
                name, gone = _elsewhere(attached, tid, is_private)
                state.threads[tid] = Thread(tid, name, "", gone=gone, is_elsewhere=not is_private)
        return state.threads[tid]

    locks: dict[int, Lock] = {}
    for one in seen:
        waited = one.waited
        stack = places.stack(split(one.stack).outer)
        variable = places.variable(waited.address)
        name = variable or str(site(stack) or _UNKNOWN)
        lock = locks.setdefault(waited.address, Lock(waited.kind, waited.address, name, bool(variable)))
        waiting = thread(one.tid)
        waiting.wait = Wait(lock, 0, waited.mode, -1, one.wait.has_deadline, tuple(stack))
        if waited.kind == "join":
            thread(waited.owner).own = waited.address
        elif waited.owner:
            holder = thread(waited.owner, one.wait.is_private)
            if all(hold.lock.address != waited.address for hold in holder.holds):
                holder.holds.append(Hold(lock, EXCLUSIVE, -1, None))
    for tid, stack_now in now.items():
        thread(tid).stack = [str(one) for one in places.stack(stack_now.frames)]
    state.unseen = len(tasks.keys() - state.threads.keys())
    return state


def _elsewhere(attached: Attached, tid: int, is_private: bool) -> tuple[str, str]:
    """The name of a thread that isn't one of this process's, and where it is."""
    if attached.inner_pid != attached.pid:
        return "?", "has ended"  # its number is that of a container
    try:
        lines = Path(f"/proc/{tid}/status").read_text(errors="replace").splitlines()
    except OSError:
        return "?", "has ended"
    values = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    if values.get("Tgid") == str(attached.pid):
        return values.get("Name", "?"), "has ended"  # the first thread; the process goes on
    process = f"is a thread of process {values.get('Tgid', tid)}"
    return values.get("Name", "?"), f"{process}, which had the lock when this one was forked" if is_private else process


def _note(stacks: Stacks) -> str:
    lines = [
        "It runs without lockswap, so its locks were read from its memory: who holds a lock for reading, since when,",
        f"and what is held while nobody waits for it isn't known there. {stops_in_words(stacks)[0]}",
    ]
    return "\n".join(lines + stops_in_words(stacks)[1:])


def stops_in_words(stacks: Stacks) -> list[str]:
    """How threads were stopped, and what was not to be had."""
    count, longest = stacks.stops.count, stacks.stops.longest_s
    lines = ["No thread was stopped."]
    if count:
        who = "1 thread was stopped" if count == 1 else f"There were {count} stops of a thread, the longest"
        lines = [f"{who} for {longest * 1e3:.1f} ms."]
    if stacks.missing:
        lines.append(f"There are no stacks: {stacks.missing}.")
    if stacks.stops.refused:
        lines.append("Some stacks are missing: another process traces the program, such as a debugger.")
    return lines
