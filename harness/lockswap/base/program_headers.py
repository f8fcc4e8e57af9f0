"""The program headers of an ELF file, read directly: elftools makes an object of each, which takes it milliseconds."""

import os
import struct
from dataclasses import dataclass
from typing import BinaryIO

from elftools.common.exceptions import ELFError

LOAD, NOTE = 1, 4
EXECUTABLE = 1  # a flag
_BUILD_ID = 3  # a note of GNU


@dataclass(frozen=True)
class ProgramHeader:
    """Of a segment: where it lies in the file, and where in the file's own address space."""

    type: int
    flags: int
    offset: int
    address: int
    file_size: int
    memory_size: int

    def data(self, file: BinaryIO) -> bytes:
        return _read(file, self.offset, self.file_size)


def _read(file: BinaryIO, offset: int, size: int) -> bytes:
    """What the file has there. A damaged header may name more than any file has."""
    left = file.seek(0, os.SEEK_END) - offset
    if left <= 0:
        return b""
    file.seek(offset)
    return file.read(min(size, left))


def program_headers(file: BinaryIO, of_type: int) -> list[ProgramHeader]:
    """Those of that type. Raises ELFError if it isn't an ELF file, or is damaged."""
    head = _read(file, 0, 64)
    if len(head) < 52 or head[:4] != b"\x7fELF" or head[4] not in (1, 2) or head[5] not in (1, 2):
        raise ELFError("no ELF file")
    order, is_64 = "<>"[head[5] - 1], head[4] == 2
    try:
        begin = struct.unpack_from(f"{order}Q" if is_64 else f"{order}I", head, 32 if is_64 else 28)[0]
        size, count = struct.unpack_from(f"{order}HH", head, 54 if is_64 else 42)
        table = _read(file, begin, size * count)
        found = []
        for at in (size * number for number in range(count)):
            if is_64:
                kind, flags, offset, address, _, in_file, in_memory, _ = struct.unpack_from(f"{order}II6Q", table, at)
            else:
                kind, offset, address, _, in_file, in_memory, flags, _ = struct.unpack_from(f"{order}8I", table, at)
            found.append(ProgramHeader(kind, flags, offset, address, in_file, in_memory))
    except struct.error as error:
        raise ELFError(str(error)) from error
    return [one for one in found if one.type == of_type]


def build_ids(file: BinaryIO) -> list[str]:
    """As hexadecimal digits; one at most, if the linker behaved."""
    found = []
    for header in program_headers(file, NOTE):
        notes = header.data(file)
        order = "<>"[_read(file, 5, 1)[0] - 1]
        at = 0
        while at + 12 <= len(notes):
            name_size, size, kind = struct.unpack_from(f"{order}III", notes, at)
            name, data = at + 12, at + 12 + (name_size + 3) // 4 * 4
            if kind == _BUILD_ID and notes[name : name + name_size] == b"GNU\0":
                found.append(notes[data : data + size].hex())
            at = data + (size + 3) // 4 * 4
    return found
