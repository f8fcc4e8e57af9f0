"""The registers of one thread, by the shortest stop that ptrace has.

PTRACE_SEIZE sends no signal, and the kernel lets the thread go on if this process is killed meanwhile.
"""

import ctypes
import errno
import gc
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from lockswap.outside.target import Target

_SEIZE, _INTERRUPT, _DETACH, _GETREGSET, _SETREGSET = 0x4206, 0x4207, 17, 0x4204, 0x4205
_BROKEN_OFF = (1 << 64) - errno.EINTR
_NT_PRSTATUS = 1
_WALL = 0x40000000
_EVENT_STOP = 128
_PATIENCE_S = 0.03
_YIELDS = 20
_LEAST_NAP_S, _MOST_NAP_S = 20e-6, 1e-3

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))


@dataclass(frozen=True)
class Stopped:
    registers: dict[int, int]
    stack: bytes  # from the stack pointer on


class Stops:
    """Stops threads one by one, and notes for how long. `patience_s` is how long a thread may take until it stops."""

    def __init__(self, target: Target, patience_s: float = _PATIENCE_S) -> None:
        self._target, self._patience_s = target, patience_s
        self.count = 0
        self.longest_s = 0.0
        self.refused = False  # another tracer was there

    def take(self, tid: int, stack_size: int, still: Callable[[], bool]) -> Stopped | None:
        """`still` is asked while the thread stands. None: it says no, or the thread has ended, another process traces
        it, or it did not stop in time."""
        found: list[Stopped] = []
        # The end of a tracer's thread detaches from what did not stop in time, as from a thread that reads a dead disk.
        worker = threading.Thread(target=self._take, args=(tid, stack_size, still, found))
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            worker.start()
            worker.join()
        finally:
            if was_enabled:
                gc.enable()
        return found[0] if found else None

    def _take(self, tid: int, stack_size: int, still: Callable[[], bool], found: list[Stopped]) -> None:
        if _libc.ptrace(_SEIZE, tid, None, None) != 0:
            self.refused |= ctypes.get_errno() == errno.EPERM
            return
        copied = ctypes.create_string_buffer(1024)
        vector = _Vector(ctypes.addressof(copied), len(copied))
        begin = time.monotonic()
        _libc.ptrace(_INTERRUPT, tid, None, None)
        signal, begin = _wait(tid, begin, self._patience_s)
        if signal is not None:
            read = _libc.ptrace(_GETREGSET, tid, _NT_PRSTATUS, ctypes.byref(vector))
            registers = self._target.machine.by_number(copied.raw) if read == 0 else {}
            stack = self._target.read(registers[self._target.machine.sp], stack_size) if registers else b""
            is_still = still()
            if registers and signal == 0:
                self._call_again(tid, copied, vector)
            _libc.ptrace(_DETACH, tid, None, signal or None)
            if registers and is_still:
                found.append(Stopped(registers, stack))
        self.count += 1
        self.longest_s = max(self.longest_s, time.monotonic() - begin)

    def _call_again(self, tid: int, copied: ctypes.Array, vector: _Vector) -> None:
        """If the stop has broken off a call, which its thread entered in that moment, has the thread make it again."""
        machine = self._target.machine
        words = (ctypes.c_uint64 * len(machine.registers)).from_buffer(copied)
        if words[machine.number] not in machine.broken_off or words[machine.result] != _BROKEN_OFF:
            return
        if self._target.has_signal(tid):
            return  # that would have broken it off as well
        words[machine.result] = words[machine.number]
        words[machine.counter] -= machine.instruction
        _libc.ptrace(_SETREGSET, tid, _NT_PRSTATUS, ctypes.byref(vector))


def _wait(tid: int, begin: float, patience_s: float) -> tuple[int | None, float]:
    """The signal that the thread is to get when it goes on, 0 if there was none. None: it has not stopped.

    And the last moment at which it had not stopped yet: it may have waited for a processor before.
    """
    end = begin + patience_s
    nap, yields = _LEAST_NAP_S, _YIELDS
    while True:
        now = time.monotonic()
        try:
            stopped, status = os.waitpid(tid, os.WNOHANG | _WALL)
        except ChildProcessError:
            return None, begin
        if stopped == tid:
            if not os.WIFSTOPPED(status):
                return None, begin
            return 0 if status >> 16 == _EVENT_STOP else os.WSTOPSIG(status), begin
        begin = now
        if now > end:
            return None, begin
        if yields > 0:
            yields -= 1
            os.sched_yield()
        else:  # a busy loop could keep the thread from its processor
            time.sleep(nap)
            nap = min(2 * nap, _MOST_NAP_S)
