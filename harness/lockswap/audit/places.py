"""From a place in a file to the function and line of the lock's user there."""

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from elftools.common.exceptions import ELFError

from lockswap.audit.elf import virtual_address
from lockswap.profile.names import Names, site


class Places:
    """Texts for places as the audit's records have them: {"address", "offset", "file"}."""

    def __init__(self, places: Iterable[dict]) -> None:
        self._offsets: dict[str, set[int]] = {}
        for place in places:
            if place["file"]:
                self._offsets.setdefault(place["file"], set()).add(place["offset"])

    @cached_property
    def names(self) -> dict[tuple[str, int], str]:
        """All at once, when the first is asked for: most examples have stacks, which say more."""
        return {
            (file, offset): name
            for file, some in self._offsets.items()
            for offset, name in _look_up(file, sorted(some))
        }

    def text(self, place: dict) -> str:
        if not place["file"]:
            return place["address"] if int(place["address"], 16) else ""
        where = f"{Path(place['file']).name}+{place['offset']:#x}"
        name = self.names.get((place["file"], place["offset"]))
        return f"{name} ({where})" if name else where


def _look_up(file: str, offsets: list[int]) -> list[tuple[int, str]]:
    addresses = _addresses(Path(file), offsets)
    frames = [[0, address + 1] for address in addresses.values()]
    module = {"path": file, "build_id": ""}
    process = {"modules": [module], "stacks": [{"frames": [one]} for one in frames], "locks": []}
    names = Names([process])
    users = [site(names.frame(process, frame)) for frame in frames]
    return [
        (offset, ", ".join(word for word in (user.name, user.line) if word))
        for offset, user in zip(addresses, users, strict=True)
        if user is not None and "+0x" not in user.name
    ]


def _addresses(file: Path, offsets: list[int]) -> dict[int, int]:
    """For each offset, which is where a call returns to, an address inside the call."""
    try:
        with file.open("rb") as opened:
            found = {offset: virtual_address(opened, offset - 1) for offset in offsets}
    except (OSError, ELFError):
        return {}
    return {offset: address for offset, address in found.items() if address is not None}
