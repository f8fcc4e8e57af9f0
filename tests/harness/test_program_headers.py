"""Program headers and build ids, as elftools reads them, and of files that are damaged."""

import io
import random
import struct
from pathlib import Path

import pytest
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.segments import NoteSegment

from lockswap.base.program_headers import LOAD, NOTE, build_ids, program_headers

SHELL = Path("/bin/sh")


def made(order: str, is_64: bool, headers: list[tuple[int, int, int]]) -> bytes:
    """An ELF file of nothing but program headers: of each its type, its address and its size in the file."""
    size, entry = (64, 56) if is_64 else (52, 32)
    head = b"\x7fELF" + bytes([1 + is_64, 1 + (order == ">")]) + bytes(10)
    kinds = struct.pack(f"{order}HHI", 2, 62, 1)
    places = struct.pack(f"{order}3Q" if is_64 else f"{order}3I", 0, size, 0)
    rest = struct.pack(f"{order}I6H", 0, size, entry, len(headers), 0, 0, 0)
    table = b"".join(
        struct.pack(f"{order}II6Q", kind, 5, 0x10, address, address, in_file, in_file + 8, 1)
        if is_64
        else struct.pack(f"{order}8I", kind, 0x10, address, address, in_file, in_file + 8, 5, 1)
        for kind, address, in_file in headers
    )
    return head + kinds + places + rest + table


def test_as_elftools_reads_them():
    with SHELL.open("rb") as file:
        ours = program_headers(file, LOAD)
        ids = build_ids(file)
        elf = ELFFile(file)
        theirs = [segment.header for segment in elf.iter_segments("PT_LOAD")]
        notes = [n for s in elf.iter_segments() if isinstance(s, NoteSegment) for n in s.iter_notes()]
    assert [(o.offset, o.address, o.file_size, o.memory_size, o.flags) for o in ours] == [
        (t.p_offset, t.p_vaddr, t.p_filesz, t.p_memsz, t.p_flags) for t in theirs
    ]
    assert ids == [note["n_desc"] for note in notes if note["n_type"] == "NT_GNU_BUILD_ID"] != []


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("is_64", [True, False])
def test_all_kinds_of_files(order, is_64):
    file = io.BytesIO(made(order, is_64, [(LOAD, 0x4000, 0x20), (NOTE, 0x5000, 4), (LOAD, 0x6000, 8)]))
    assert [(one.address, one.file_size, one.memory_size, one.flags) for one in program_headers(file, LOAD)] == [
        (0x4000, 0x20, 0x28, 5),
        (0x6000, 8, 16, 5),
    ]


def test_what_is_damaged_is_refused():
    whole = SHELL.read_bytes()
    chance = random.Random(1)
    for _ in range(2000):
        text = bytearray(whole[: chance.choice((10, 60, 100, 500, len(whole)))])
        for _ in range(chance.randrange(1, 8)):
            text[chance.randrange(min(len(text), 700))] = chance.choice((0, 1, 0x7F, 0xFF))
        file = io.BytesIO(bytes(text))
        try:
            for header in program_headers(file, LOAD):
                assert len(header.data(file)) <= len(text)
            build_ids(file)
        except ELFError:
            pass
    with pytest.raises(ELFError):
        program_headers(io.BytesIO(b"#!/bin/sh\n" * 20), LOAD)
