"""Stacks of a process's threads. A thread that sleeps is looked at without a stop, as long as that is enough."""

from collections.abc import Callable
from dataclasses import dataclass

from lockswap.outside.glibc import is_lock_function
from lockswap.outside.stop import Stops
from lockswap.outside.target import Call, Target, is_libc
from lockswap.outside.unwind import Frame, Stack, Unwinder

_SIZE = 1 << 16
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
        self.renew()

    def renew(self) -> None:
        """To be called when the process has mapped other files."""
        if self._unwinder is not None:
            self._unwinder.close()
            self._unwinder = None
        try:
            self._unwinder = Unwinder(self._target)
        except OSError as error:
            self.missing = "libdw.so.1 is not installed (package libdw1, or elfutils-libs)"
            if "libdw.so" not in str(error):
                self.missing = f"libdw: {error}"

    def asleep(self, tid: int, call: Call | None) -> Stack:
        """Without a stop. It is of use only if the thread is seen in the same call afterwards."""
        if self._unwinder is None or call is None:
            return _NOTHING
        machine = self._target.machine
        registers = {machine.sp: call.sp, machine.pc: call.pc}
        return self._unwinder.stack(tid, registers, call.sp, self._target.read(call.sp, _SIZE))

    def now(self, tid: int, still: Callable[[], bool] = lambda: True) -> Stack:
        """By a stop, if there is no other way and the thread can't notice it. Empty if `still` is false by then."""
        before = self._target.glimpse(tid)
        if self._unwinder is None or before is None:
            return _NOTHING
        found = self.asleep(tid, before.call) if before.sleeps else _NOTHING
        if found.frames and not (still() and self._target.glimpse(tid) == before):
            found = _NOTHING
        if found.is_whole or not self._target.goes_on(before.call):
            return found
        stopped = self.stops.take(tid, _SIZE, still)
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
