"""The state of a process that was started without lockswap: what glibc's locks in its memory and the kernel say."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from lockswap.outside.glibc import EXCLUSIVE, Waited, waited_for
from lockswap.outside.stacks import Stacks, split
from lockswap.outside.target import FutexWait, Glimpse, Target, is_libc
from lockswap.outside.unwind import Frame, Stack
from lockswap.profile.attach import Attached, Task
from lockswap.profile.live import Hold, Lock, State, Thread, Wait
from lockswap.profile.names import Names, site, without_starts
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
    attached: Attached, tasks: dict[int, Task], seen: list[_Seen], now: dict[int, Stack], places: "Places"
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


class Places:
    """Names of all addresses in some stacks and of some locks, looked up at once."""

    def __init__(self, attached: Attached, stacks: Iterable[Stack], variables: Iterable[int]) -> None:
        self._begins: dict[str, int] = {}
        for begin, path in attached.files():
            self._begins.setdefault(path, begin)
        self._segments: dict[str, list[tuple[int, int]]] = {}
        self._modules: dict[str, int] = {}
        frames = {one: self._place(one.file, one.returns) for stack in stacks for one in stack.frames}
        self._frames = {one: place for one, place in frames.items() if place[0] >= 0 and not is_libc(one.file)}
        self._variables = {address: place for address in variables if (place := self._variable(address))}
        self._known = {
            "pid": attached.pid,
            "made_code": attached.made_code(),
            "modules": [{"path": path, "build_id": ""} for path in self._modules],
            "locks": [{"object": place} for place in self._variables.values()],
            "stacks": [{"frames": [place]} for place in self._frames.values()],
        }
        self._names = Names([self._known])

    def stack(self, frames: Iterable[Frame]) -> list[Function]:
        """Without what all threads begin with."""
        found: list[Function] = []
        for n, one in enumerate(frames):
            if one.symbol.startswith("__libc_start"):
                break  # behind it comes _start, which has no name in a stripped program
            place = self._frames.get(one)
            if place is not None:
                found += self._names.frame(self._known, place, innermost=n == 0 and not one.is_innermost)
            elif one.file:
                own = self._place(one.file, one.returns)[1]
                found.append(Function(one.symbol or f"{Path(one.file).name}+{own - 1:#x}", file=one.file))
            else:
                found += self._names.frame(self._known, [-1, one.returns])
        return without_starts(found)

    def variable(self, address: int) -> str:
        """Empty if it lies in no file's data."""
        place = self._variables.get(address)
        return self._names.variable(self._known, place) if place else ""

    def _place(self, file: str, address: int) -> list[int]:
        segments = self._loaded(file)
        if not segments:
            return [-1, address]
        own = address - self._begins[file] + min(begin for begin, _ in segments) // 4096 * 4096
        return [self._modules.setdefault(file, len(self._modules)), own]

    def _variable(self, address: int) -> list[int] | None:
        below = [(begin, file) for file, begin in self._begins.items() if begin <= address]
        _, file = max(below, default=(0, ""))
        segments = self._loaded(file)
        if not segments:
            return None
        own = address - self._begins[file] + min(begin for begin, _ in segments) // 4096 * 4096
        if not any(begin <= own < end for begin, end in segments):
            return None
        return [self._modules.setdefault(file, len(self._modules)), own]

    def _loaded(self, file: str) -> list[tuple[int, int]]:
        if file not in self._begins:
            return []
        if file not in self._segments:
            try:
                with Path(file).open("rb") as opened:
                    headers = [one.header for one in ELFFile(opened).iter_segments("PT_LOAD")]
            except (OSError, ELFError):
                headers = []
            self._segments[file] = [(one.p_vaddr, one.p_vaddr + one.p_memsz) for one in headers]
        return self._segments[file]
