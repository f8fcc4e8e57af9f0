"""Texts for the places of a policy's report: {"file", "address"}, the address as the file's symbol table has it."""

from collections.abc import Iterable
from pathlib import Path

from elftools.common.exceptions import ELFError

from lockswap.audit.places import Places
from lockswap.base.program_headers import LOAD, program_headers


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
            loaded = program_headers(opened, LOAD)
    except (OSError, ELFError):
        return []
    return [
        (address, address - part.address + part.offset)
        for address in addresses
        for part in loaded
        if part.address <= address - 1 < part.address + part.file_size
    ]
