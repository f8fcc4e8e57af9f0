"""Texts for the places of a policy's report: {"file", "address"}, the address as the file's symbol table has it."""

from collections.abc import Iterable
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from lockswap.audit.places import Places


class Names:
    """Functions and lines by addr2line, where debug information or a symbol table is there."""

    def __init__(self, found: Iterable[dict]) -> None:
        self.offsets: dict[tuple[str, int], int] = {}
        addresses_in: dict[str, set[int]] = {}
        for place in found:
            if place["file"]:
                addresses_in.setdefault(place["file"], set()).add(place["address"])
        for file, addresses in addresses_in.items():
            self.offsets |= {(file, address): offset for address, offset in _offsets(Path(file), addresses)}
        self.names = Places({"file": file, "offset": offset} for (file, _), offset in self.offsets.items()).names

    def text(self, place: dict) -> str:
        if not place["file"]:
            return "a call site in no file"
        where = f"module={Path(place['file']).name} site={place['address']:#x}"
        offset = self.offsets.get((place["file"], place["address"]))
        name = self.names.get((place["file"], offset))
        return f"{where}  {name}" if name else where


def _offsets(file: Path, addresses: Iterable[int]) -> list[tuple[int, int]]:
    """Where in the file an address lies."""
    try:
        with file.open("rb") as opened:
            loaded = [s.header for s in ELFFile(opened).iter_segments() if s.header.p_type == "PT_LOAD"]
    except (OSError, ELFError):
        return []
    return [
        (address, address - part.p_vaddr + part.p_offset)
        for address in addresses
        for part in loaded
        if part.p_vaddr <= address - 1 < part.p_vaddr + part.p_filesz
    ]
