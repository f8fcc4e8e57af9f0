"""Stacks of a process's threads. A thread that sleeps is looked at without a stop, as long as that is enough."""

import re
from dataclasses import dataclass

from lockswap.outside.glibc import is_lock_function
from lockswap.outside.stop import Stops
from lockswap.outside.target import Glimpse, Target
from lockswap.outside.unwind import Frame, Stack, Unwinder

_SIZE = 1 << 16
_LIBC = re.compile(r"/(libc|libpthread|librt|ld|ld-linux[\w-]*)([-.][\w.-]*)?\.so(\.\d+)*$")
_MOST_WITHIN_A_LOCK = 6  # frames, in a static program
_NOTHING = Stack((), False)


@dataclass(frozen=True)
class Split:
    """The functions of the C library in which a thread waits, and the stack of their caller."""

    inner: tuple[Frame, ...]
    outer: tuple[Frame, ...]

    @property
    def functions(self) -> list[str]:
        return [one.symbol for one in self.inner]


class Stacks:
    def __init__(self, target: Target) -> None:
        self._target = target
        self.stops = Stops(target)
        self.missing = ""  # why there are none
        self._unwinder: Unwinder | None = None
        try:
            self._unwinder = Unwinder(target)
        except OSError as error:
            self.missing = "libdw.so.1 is not installed (package libdw1, or elfutils-libs)"
            if "libdw.so" not in str(error):
                self.missing = f"libdw: {error}"

    def asleep(self, tid: int, seen: Glimpse) -> Stack:
        """Without a stop. It is of use only if another glimpse afterwards is equal."""
        if self._unwinder is None or seen.call is None:
            return _NOTHING
        machine, call = self._target.machine, seen.call
        registers = {machine.sp: call.sp, machine.pc: call.pc}
        return self._unwinder.stack(tid, registers, call.sp, self._target.read(call.sp, _SIZE))

    def now(self, tid: int) -> Stack:
        """By a stop, if there is no other way and the thread can't notice it."""
        before = self._target.glimpse(tid)
        if self._unwinder is None or before is None:
            return _NOTHING
        found = self.asleep(tid, before) if before.sleeps else _NOTHING
        if found.is_whole and self._target.glimpse(tid) == before:
            return found
        if not self._target.goes_on(before.call):
            return found
        stopped = self.stops.take(tid, _SIZE)
        if stopped is None:
            return found
        base = stopped.registers[self._target.machine.sp]
        return self._unwinder.stack(tid, stopped.registers, base, stopped.stack)


def split(stack: Stack) -> Split:
    frames = stack.frames
    inner = next((n for n, one in enumerate(frames) if not is_libc(one.file)), len(frames))
    for n, one in enumerate(frames[: inner + _MOST_WITHIN_A_LOCK]):
        if is_lock_function(one.symbol) and n >= inner:
            inner = n + 1
    return Split(frames[:inner], frames[inner:])


def is_libc(file: str) -> bool:
    return _LIBC.search(file) is not None
