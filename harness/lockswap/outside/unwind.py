"""Stacks of another process from registers and a copy of the stack, by libdw (elfutils)."""

import ctypes
import re
from collections.abc import Mapping
from ctypes import CFUNCTYPE, POINTER, c_bool, c_char_p, c_int, c_uint, c_uint64, c_void_p
from dataclasses import dataclass

from lockswap.base.process import folder_of
from lockswap.outside.target import Target, is_libc

_MOST_FRAMES = 64
_WORD = 8
_LIBRARY = re.compile(r"/lib(std)?c\+\+(abi)?\.so")


@dataclass(frozen=True)
class Frame:
    pc: int
    file: str  # "": in no file
    symbol: str  # of a C library; "": its tables have none for it
    is_innermost: bool

    @property
    def returns(self) -> int:
        """An address of which the one before is in the function, as it is of a return address."""
        return self.pc + self.is_innermost


@dataclass(frozen=True)
class Stack:
    frames: tuple[Frame, ...]
    is_whole: bool  # unwound to the function that the thread began with


_NextThread = CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(c_void_p))
_GetThread = CFUNCTYPE(c_bool, c_void_p, c_int, c_void_p, POINTER(c_void_p))
_ReadMemory = CFUNCTYPE(c_bool, c_void_p, c_uint64, POINTER(c_uint64), c_void_p)
_SetRegisters = CFUNCTYPE(c_bool, c_void_p, c_void_p)
_OnFrame = CFUNCTYPE(c_int, c_void_p, c_void_p)
_FindDebug = CFUNCTYPE(c_int, c_void_p, c_void_p, c_char_p, c_uint64, c_char_p, c_char_p, c_uint, c_void_p)


class _ThreadCallbacks(ctypes.Structure):
    _fields_ = (
        ("next_thread", _NextThread),
        ("get_thread", _GetThread),
        ("memory_read", _ReadMemory),
        ("set_initial_registers", _SetRegisters),
        ("detach", c_void_p),
        ("thread_detach", c_void_p),
    )


class _Callbacks(ctypes.Structure):
    _fields_ = (
        ("find_elf", c_void_p),
        ("find_debuginfo", _FindDebug),
        ("section_address", c_void_p),
        ("debuginfo_path", c_void_p),
    )


class Unwinder:
    """Raises OSError where libdw isn't installed, or cannot read the process's memory map."""

    def __init__(self, target: Target) -> None:
        self._dw = _library()
        self._target = target
        self._has_libc = target.libc() != ""
        self._registers: dict[int, int] = {}
        self._base, self._stack = 0, b""
        self._frames: list[Frame] = []
        find_elf = ctypes.cast(self._dw.dwfl_linux_proc_find_elf, c_void_p)
        # Unwinding needs .eh_frame alone. Debug information would be searched for in the network, too.
        self._callbacks = _Callbacks(find_elf, _FindDebug(lambda *_: -1), None, None)
        self._thread_callbacks = _ThreadCallbacks(
            _NextThread(lambda *_: 0),
            _GetThread(lambda *_: True),
            _ReadMemory(self._read),
            _SetRegisters(self._set),
            None,
            None,
        )
        self._on_frame = _OnFrame(self._add)
        self._dwfl = self._dw.dwfl_begin(ctypes.byref(self._callbacks))
        shown = int(folder_of(target.pid).name)  # libdw reads the map of this one
        if (
            not self._dwfl
            or self._dw.dwfl_linux_proc_report(self._dwfl, shown) != 0
            or self._dw.dwfl_report_end(self._dwfl, None, None) != 0
            or not self._dw.dwfl_attach_state(self._dwfl, None, target.pid, ctypes.byref(self._thread_callbacks), None)
        ):
            message = self._dw.dwfl_errmsg(-1) or b"libdw failed"
            raise OSError(message.decode(errors="replace"))

    def close(self) -> None:
        self._dw.dwfl_end(self._dwfl)

    def stack(self, tid: int, registers: Mapping[int, int], base: int, stack: bytes) -> Stack:
        """From some or all registers, and what lies on the stack from `base` on."""
        self._registers, self._base, self._stack, self._frames = dict(registers), base, stack, []
        ended = self._dw.dwfl_getthread_frames(self._dwfl, tid, self._on_frame, None)
        # Where a register is missing libdw ends as it does at the stack's end.
        return Stack(tuple(self._frames), ended == 0 and _reaches_the_start(self._frames))

    def _read(self, _dwfl: int, address: int, result: object, _: object) -> bool:
        at = address - self._base
        if 0 <= at <= len(self._stack) - _WORD:
            word: int | None = int.from_bytes(self._stack[at : at + _WORD], "little")
        else:
            word = self._target.word(address, _WORD)
        if word is None:
            return False
        result[0] = word  # type: ignore[index]
        return True

    def _set(self, thread: int, _: object) -> bool:
        for number, value in self._registers.items():
            if number != self._target.machine.pc:
                self._dw.dwfl_thread_state_registers(thread, number, 1, ctypes.byref(c_uint64(value)))
        self._dw.dwfl_thread_state_register_pc(thread, self._registers[self._target.machine.pc])
        return True

    def _add(self, state: int, _: object) -> int:
        pc, is_innermost = c_uint64(), c_bool()
        if not self._dw.dwfl_frame_pc(state, ctypes.byref(pc), ctypes.byref(is_innermost)):
            return 1
        self._frames.append(self._frame(pc.value, is_innermost.value))
        return int(len(self._frames) >= _MOST_FRAMES)

    def _frame(self, pc: int, is_innermost: bool) -> Frame:
        inside = pc - (not is_innermost)
        module = self._dw.dwfl_addrmodule(self._dwfl, inside)
        if not module:
            return Frame(pc, "", "", is_innermost)
        file = self._dw.dwfl_module_info(module, None, None, None, None, None, None, None) or b""
        path = file.decode(errors="surrogateescape")
        symbol = b""
        if not self._has_libc or is_libc(path) or _LIBRARY.search(path):  # reading all symbols of a file takes long
            symbol = self._dw.dwfl_module_addrname(module, inside) or b""
        # Some tables have the version behind the name.
        return Frame(pc, path, symbol.partition(b"@")[0].decode(errors="replace"), is_innermost)


def _reaches_the_start(frames: list[Frame]) -> bool:
    if len(frames) < 2:
        return False
    last, before = frames[-1], frames[-2]
    if is_libc(last.file):
        return not all(is_libc(one.file) for one in frames)
    return before.symbol.startswith("__libc_start") or last.symbol.strip("_").startswith(("start", "clone"))


def _library() -> ctypes.CDLL:
    dw = ctypes.CDLL("libdw.so.1")
    for name, result, arguments in (
        ("dwfl_begin", c_void_p, [c_void_p]),
        ("dwfl_end", None, [c_void_p]),
        ("dwfl_linux_proc_report", c_int, [c_void_p, c_int]),
        ("dwfl_report_end", c_int, [c_void_p, c_void_p, c_void_p]),
        ("dwfl_attach_state", c_bool, [c_void_p, c_void_p, c_int, c_void_p, c_void_p]),
        ("dwfl_errmsg", c_char_p, [c_int]),
        ("dwfl_getthread_frames", c_int, [c_void_p, c_int, _OnFrame, c_void_p]),
        ("dwfl_thread_state_registers", c_bool, [c_void_p, c_int, c_uint, c_void_p]),
        ("dwfl_thread_state_register_pc", None, [c_void_p, c_uint64]),
        ("dwfl_frame_pc", c_bool, [c_void_p, c_void_p, c_void_p]),
        ("dwfl_addrmodule", c_void_p, [c_void_p, c_uint64]),
        ("dwfl_module_info", c_char_p, [c_void_p] * 8),
        ("dwfl_module_addrname", c_char_p, [c_void_p, c_uint64]),
    ):
        function = getattr(dw, name)
        function.restype, function.argtypes = result, arguments
    return dw
