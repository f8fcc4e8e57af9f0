"""Functions that end with a jump to a lock function: optimised code has no frame of them, only of their callers."""

import re
import struct
from bisect import bisect_right
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

_LOCK_FUNCTIONS = re.compile(r"(__)?pthread_(mutex|rwlock|cond|spin|barrier|once|\w*join)|sem_")
_MOST_JUMPS = 4  # from a function that ends with a jump to one that ends with a jump ...
_SLOTS = {"EM_X86_64": (6, 7), "EM_AARCH64": (1025, 1026)}  # relocations of the table that imports jump through


class TailCalls:
    """The tail calls of one file. Knows nothing of files for other processors, or without unwinding tables."""

    def __init__(self, file: str) -> None:
        self._segments: list[tuple[int, bytes]] = []
        self._slots: dict[int, str] = {}
        self._starts: list[int] = []
        self._own: dict[str, int] = {}  # exported functions, which calls may reach by a slot
        try:
            with Path(file).open("rb") as opened:
                elf = ELFFile(opened)
                self._arm = elf["e_machine"] == "EM_AARCH64"
                if elf["e_machine"] in _SLOTS and elf.elfclass == 64 and elf.little_endian:
                    self._read(elf)
        except (OSError, ELFError, struct.error):
            self._starts = []

    def before(self, returns: int) -> list[list[int]]:
        """Each way in which the call that returns to the address may have got to a lock function by jumps.

        A way is a list of the jumps' addresses, the last jump first. No ways: the lock function itself was called.
        """
        function = self.called(returns)
        return self._jumps_from(function, 0) if function is not None else []

    def called(self, returns: int) -> int | None:
        """The beginning of the function of this file that the call which returns to the address called."""
        target = self._target(returns)
        if target is None:
            return None
        function = self._resolved(target)
        i = bisect_right(self._starts, function) - 1
        return function if i >= 0 and self._starts[i] == function and not self._import(function) else None

    def _read(self, elf: ELFFile) -> None:
        for segment in elf.iter_segments("PT_LOAD"):
            if segment["p_flags"] & 1:
                self._segments.append((segment["p_vaddr"], segment.data()))
        symbols = elf.get_section_by_name(".dynsym")
        for name in (".rela.plt", ".rela.dyn"):
            section = elf.get_section_by_name(name)
            if section is None or symbols is None:
                continue
            data = section.data()
            for offset, info, _ in struct.iter_unpack("<QQq", data[: len(data) // 24 * 24]):
                if info & 0xFFFFFFFF in _SLOTS[elf["e_machine"]]:
                    symbol = symbols.get_symbol(info >> 32)
                    self._slots[offset] = symbol.name
                    if symbol["st_shndx"] != "SHN_UNDEF":
                        self._own[symbol.name] = symbol["st_value"]
        self._starts = _function_starts(elf)

    def _bytes(self, address: int, size: int) -> bytes:
        for begin, data in self._segments:
            if begin <= address < begin + len(data):
                return data[address - begin : address - begin + size]
        return b""

    def _target(self, returns: int) -> int | None:
        """What was called directly. A call by a pointer doesn't say whom it called."""
        if self._arm:
            word = self._word(returns - 4)
            return returns - 4 + _offset26(word) if word >> 26 == 0b100101 else None
        code = self._bytes(returns - 5, 5)
        return returns + _signed(code[1:]) if len(code) == 5 and code[0] == 0xE8 else None

    def _word(self, address: int) -> int:
        code = self._bytes(address, 4)
        return int.from_bytes(code, "little") if len(code) == 4 else 0

    def _import(self, stub: int) -> str | None:
        """The name of the imported function that a stub of the linker jumps to."""
        if self._arm:
            first = self._word(stub)
            stub += 4 if first == 0xD503245F else 0  # bti
            page, load = self._word(stub), self._word(stub + 4)
            if page & 0x9F00001F != 0x90000010 or load & 0xFFC003FF != 0xF9400211:
                return None
            pages = ((page >> 5 & 0x7FFFF) << 2 | page >> 29 & 3) ^ 1 << 20
            return self._slots.get((stub & ~0xFFF) + (pages - (1 << 20) << 12) + (load >> 10 & 0xFFF) * 8)
        code = self._bytes(stub, 16)
        at = code.find(b"\xff\x25", 0, 8)
        return self._slots.get(stub + at + 6 + _signed(code[at + 2 : at + 6])) if at >= 0 else None

    def _resolved(self, target: int) -> int:
        """A shared library calls its own exported functions by stubs."""
        name = self._import(target)
        return self._own.get(name, target) if name else target

    def _jumps_from(self, function: int, depth: int) -> list[list[int]]:
        i = bisect_right(self._starts, function) - 1
        if i < 0 or self._starts[i] != function or depth == _MOST_JUMPS:
            return []
        end = self._starts[i + 1] if i + 1 < len(self._starts) else function + 4096
        ways = []
        for address, target, name in self._jumps_in(function, end):
            if name and _LOCK_FUNCTIONS.match(name):
                ways.append([address])
            elif target is not None and not function <= target < end:
                ways += [[*way, address] for way in self._jumps_from(self._resolved(target), depth + 1)]
        return ways or [[address] for address in self._jumps_by_register(function, end)]

    def _jumps_in(self, begin: int, end: int) -> list[tuple[int, int | None, str | None]]:
        """(address of a jump, its target, the name of the import that it jumps to).

        What merely looks like a jump is in here too, but its target is no function's beginning.
        """
        code = self._bytes(begin, end - begin)
        found: list[tuple[int, int | None, str | None]] = []
        if self._arm:
            for at in range(0, len(code) - 3, 4):
                word = int.from_bytes(code[at : at + 4], "little")
                if word >> 26 == 0b000101:
                    target = begin + at + _offset26(word)
                    found.append((begin + at, target, self._import(target)))
            return found
        for one in re.finditer(rb"(?=\xe9(....)|\x0f[\x80-\x8f](....)|(\xff\x25)(....))", code, re.DOTALL):
            near, conditional, through_slot, slot = one.groups()
            address = begin + one.start()
            if through_slot:
                found.append((address, None, self._slots.get(address + 6 + _signed(slot))))
            else:
                size = 5 if near else 6
                target = address + size + _signed(near or conditional)
                found.append((address, target, self._import(target)))
        return found

    def _jumps_by_register(self, begin: int, end: int) -> list[int]:
        """Where the function reads a lock function's address into a register, it may jump there by any register."""
        code = b"" if self._arm else self._bytes(begin, end - begin)
        loads = re.finditer(rb"(?=[\x48\x4c]\x8b[\x05\x0d\x15\x1d\x25\x2d\x35\x3d](....))", code, re.DOTALL)
        names = [self._slots.get(begin + one.start() + 7 + _signed(one[1])) for one in loads]
        if not any(name and _LOCK_FUNCTIONS.match(name) for name in names):
            return []
        return [begin + one.start() for one in re.finditer(rb"\xff[\xe0-\xe7]", code)]


def _function_starts(elf: ELFFile) -> list[int]:
    """From the table that unwinding begins with, which a file without symbols has, too."""
    section = elf.get_section_by_name(".eh_frame_hdr")
    data = section.data() if section is not None else b""
    if data[:4] != b"\x01\x1b\x03\x3b":  # the encodings that all linkers use
        return []
    (count,) = struct.unpack_from("<I", data, 8)
    table = struct.iter_unpack("<ii", data[12 : 12 + count * 8])
    return sorted(section["sh_addr"] + start for start, _ in table)


def _signed(four: bytes) -> int:
    return int.from_bytes(four, "little", signed=True)


def _offset26(word: int) -> int:
    return ((word & 0x3FFFFFF ^ 0x2000000) - 0x2000000) * 4
