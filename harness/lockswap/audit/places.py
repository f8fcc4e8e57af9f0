"""From a place in a file to the function and line there, by addr2line."""

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from lockswap.audit.elf import virtual_address

_PATIENCE_S = 60  # for one file's debug information


class Places:
    """Texts for places as the audit's records have them: {"address", "offset", "file"}."""

    def __init__(self, places: Iterable[dict]) -> None:
        offsets: dict[str, set[int]] = {}
        for place in places:
            if place["file"]:
                offsets.setdefault(place["file"], set()).add(place["offset"])
        self.names = {
            (file, offset): name for file, some in offsets.items() for offset, name in _look_up(file, sorted(some))
        }

    def text(self, place: dict) -> str:
        if not place["file"]:
            return place["address"] if int(place["address"], 16) else ""
        where = f"{Path(place['file']).name}+{place['offset']:#x}"
        name = self.names.get((place["file"], place["offset"]))
        return f"{name} ({where})" if name else where


def _look_up(file: str, offsets: list[int]) -> list[tuple[int, str]]:
    tool = shutil.which("addr2line")
    if tool is None:
        return []
    addresses = _addresses(Path(file), offsets)
    words = [tool, "-f", "-C", "-e", file, *(hex(address) for address in addresses.values())]
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=_PATIENCE_S)
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = done.stdout.splitlines()
    return [
        (offset, _name(function, line))
        for offset, function, line in zip(addresses, lines[::2], lines[1::2], strict=False)
        if not function.startswith("??")
    ]


def _addresses(file: Path, offsets: list[int]) -> dict[int, int]:
    """For each offset, which is where a call returns to, an address inside the call."""
    try:
        with file.open("rb") as opened:
            elf = ELFFile(opened)
            found = {offset: virtual_address(elf, offset - 1) for offset in offsets}
    except (OSError, ELFError):
        return {}
    return {offset: address for offset, address in found.items() if address is not None}


def _name(function: str, line: str) -> str:
    file, _, number = line.partition(" ")[0].rpartition(":")
    return function if file.startswith("??") or not number.isdigit() else f"{function}, {Path(file).name}:{number}"
