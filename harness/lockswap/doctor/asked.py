"""What the library in a process says of itself, read from the memory of that process; and the kill switch there.

interpose/what_runs.cpp has the structure.
"""

import os
import struct
from dataclasses import dataclass
from pathlib import Path

from lockswap.base.process import folder_of
from lockswap.doctor.dynamic import Dynamic

SYMBOL = "lockswap_what_runs"
_LAYOUT = struct.Struct("<IIQQ")  # version, size, choice, off_since
_VERSION = 1
_MOST_CHOICE = 1024
_SWITCH = struct.Struct("<I")


@dataclass(frozen=True)
class WhatRuns:
    choice: str  # in words, as the library prints them at start-up
    off_since: int  # seconds since 1970; 0: it is not switched off
    switch: int  # the address of that

    @property
    def swaps_rwlocks(self) -> bool:
        return "policy of" in self.choice or "rwlock pthread" not in self.choice

    @property
    def swaps_mutexes(self) -> bool:
        return "policy of" in self.choice or (", mutex " in self.choice and ", mutex pthread" not in self.choice)

    @property
    def swaps_conds(self) -> bool:
        return self.swaps_mutexes or ", cond own" in self.choice


class Memory:
    """Of a process, if the kernel lets it be read, and with `writes` written. Raises OSError."""

    def __init__(self, pid: int, writes: bool = False) -> None:
        self._file = os.open(folder_of(pid) / "mem", (os.O_RDWR if writes else os.O_RDONLY) | os.O_CLOEXEC)

    def __enter__(self) -> "Memory":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def read(self, address: int, size: int) -> bytes:
        """As much of it as can be read."""
        try:
            return os.pread(self._file, size, address)
        except (OSError, OverflowError):
            return b""

    def word(self, address: int) -> int | None:
        found = self.read(address, 8)
        return int.from_bytes(found, "little") if len(found) == 8 else None

    def write(self, address: int, data: bytes) -> None:
        os.pwrite(self._file, data, address)


def ask(memory: Memory, library: Path, begin: int) -> WhatRuns | None:
    """`library` is mapped in the process from the address `begin` on. None: it is another version, or has not begun."""
    try:
        dynamic = Dynamic(library)
    except (OSError, ValueError):
        return None
    found = dynamic.address_of(SYMBOL)
    if found is None:
        return None
    data = memory.read(found[0] - dynamic.first_address + begin, _LAYOUT.size)
    if len(data) != _LAYOUT.size:
        return None
    version, size, choice, switch = _LAYOUT.unpack(data)
    if version != _VERSION or size < _LAYOUT.size:
        return None
    text = memory.read(choice, _MOST_CHOICE).split(b"\0", 1)[0].decode(errors="replace")
    since = memory.read(switch, _SWITCH.size)
    return WhatRuns(text, _SWITCH.unpack(since)[0], switch) if text and len(since) == _SWITCH.size else None


def turn_off(memory: Memory, runs: WhatRuns, now: int) -> None:
    memory.write(runs.switch, _SWITCH.pack(now))
