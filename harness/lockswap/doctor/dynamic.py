"""The dynamic section of a 64-bit ELF file: symbols by name, and where its references to functions are.

Read here, since the libraries for that take longer to load than the doctor may.
"""

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path

_LOAD, _DYNAMIC = 1, 2
_STRTAB, _SYMTAB, _RELA, _RELASZ, _STRSZ, _PLTRELSZ, _JMPREL = 5, 6, 7, 8, 10, 2, 23
_GNU_HASH = 0x6FFFFEF5
# R_X86_64_64, GLOB_DAT and JUMP_SLOT; R_AARCH64_ABS64 and the same.
_TO_FUNCTIONS = frozenset({1, 6, 7, 257, 1025, 1026})
_PAGE = 4096
_MOST_REFERENCES = 1 << 20


class Dynamic:
    """Raises OSError or ValueError if the file is none that can be read."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if self._data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path} is no 64-bit ELF file")
        try:
            self._read_tables()
        except (struct.error, IndexError) as error:
            raise ValueError(f"{path} is damaged") from error

    def _read_tables(self) -> None:
        (table,) = struct.unpack_from("<Q", self._data, 32)
        size, count = struct.unpack_from("<HH", self._data, 54)
        self._loads: list[tuple[int, int, int]] = []  # address, offset, bytes in the file
        entries: dict[int, int] = {}
        for index in range(count):
            kind, _, offset, address, _, in_file = struct.unpack_from("<IIQQQQ", self._data, table + index * size)
            if kind == _LOAD:
                self._loads.append((address, offset, in_file))
            elif kind == _DYNAMIC:
                entries = dict(struct.iter_unpack("<QQ", self._data[offset : offset + in_file // 16 * 16]))
        self._entries = entries
        start = self._offset(entries.get(_STRTAB, 0))
        self._strings = self._data[start : start + entries.get(_STRSZ, 0)]

    @property
    def first_address(self) -> int:
        """Of the page on which the file's first segment begins."""
        return self._loads[0][0] // _PAGE * _PAGE if self._loads else 0

    def address_of(self, name: str) -> tuple[int, int] | None:
        """Where a symbol that the file defines is, and its size."""
        wanted = name.encode()
        try:
            for index in self._with_hash(_hash(wanted)):
                at, _, _, section, value, size = self._symbol(index)
                if section and self._strings[at : at + len(wanted) + 1] == wanted + b"\0":
                    return value, size
        except (struct.error, ValueError):
            pass
        return None

    def references(self, names: frozenset[bytes]) -> Iterator[tuple[str, int]]:
        """The functions of these names that the file refers to, and at which address it has them."""
        places = {at: name for name in names for at in self._string_places(name)}
        if not places:
            return
        for first, size in ((_JMPREL, _PLTRELSZ), (_RELA, _RELASZ)):
            if first not in self._entries:
                continue
            begin = self._offset(self._entries[first])
            length = min(self._entries.get(size, 0) // 24 * 24, _MOST_REFERENCES * 24)
            for where, info, _ in struct.iter_unpack("<QQq", self._data[begin : begin + length]):
                if info & 0xFFFFFFFF in _TO_FUNCTIONS and info >> 32 and (at := self._symbol(info >> 32)[0]) in places:
                    yield places[at].decode(), where

    def _string_places(self, name: bytes) -> Iterator[int]:
        """All of them: the linker lets a name be the end of another one."""
        at = self._strings.find(name + b"\0")
        while at >= 0:
            yield at
            at = self._strings.find(name + b"\0", at + 1)

    def _symbol(self, index: int) -> tuple:
        return struct.unpack_from("<IBBHQQ", self._data, self._offset(self._entries.get(_SYMTAB, 0)) + 24 * index)

    def _with_hash(self, wanted: int) -> Iterator[int]:
        """The numbers of the symbols with that hash."""
        if _GNU_HASH not in self._entries:
            return
        at = self._offset(self._entries[_GNU_HASH])
        buckets, first, words, _ = struct.unpack_from("<4I", self._data, at)
        begin = at + 16 + 8 * words
        (index,) = struct.unpack_from("<I", self._data, begin + 4 * (wanted % buckets))
        chains = begin + 4 * buckets
        while index >= first:
            (found,) = struct.unpack_from("<I", self._data, chains + 4 * (index - first))
            if found | 1 == wanted | 1:
                yield index
            if found & 1:
                return
            index += 1

    def _offset(self, address: int) -> int:
        for begin, offset, size in self._loads:
            if begin <= address < begin + size:
                return address - begin + offset
        raise ValueError("an address outside of the file")


def _hash(name: bytes) -> int:
    found = 5381
    for byte in name:
        found = (found * 33 + byte) & 0xFFFFFFFF
    return found
