"""Libraries that replace clocks or locks themselves: behind ours in LD_PRELOAD they are half replaced in turn."""

import os
import struct
from collections.abc import Iterator
from pathlib import Path

_CLOCKS = ("clock_gettime", "gettimeofday", "time")
_LOCKS = ("pthread_rwlock_", "pthread_mutex_", "pthread_cond_")
_BY_NAME = {"libfaketime": "the clock"}  # where the file is not known
_DYNSYM = 11


def warnings(ld_preload: str, library: Path) -> list[str]:
    """One for each library behind `library` that should be before it."""
    entries = ld_preload.split(":")
    behind = entries[entries.index(str(library)) + 1 :] if str(library) in entries else []
    return [
        f"'{Path(entry).name}' replaces {what} itself and is preloaded after lockswap, so lockswap's waits "
        f"don't use its own, and a timed one may end at once or never; use '--preload-first {entry}'"
        for entry in behind
        if (what := _replaces(entry))
    ]


def _replaces(entry: str) -> str | None:
    try:
        names = set(_defined(Path(entry).read_bytes())) if os.sep in entry else set()
    except (OSError, struct.error, IndexError, ValueError):
        names = set()
    if any(name.startswith(_LOCKS) for name in names):
        return "locks"
    if not names.isdisjoint(_CLOCKS):
        return "the clock"
    return next((what for start, what in _BY_NAME.items() if Path(entry).name.startswith(start)), None)


def _defined(data: bytes) -> Iterator[str]:
    """The dynamic symbols that a 64-bit ELF file defines. Read here, since `run` loads no library for that."""
    if not data.startswith(b"\x7fELF\x02\x01"):
        return
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + index * size) for index in range(count)]
    for _, kind, _, _, offset, length, link, _, _, entry_size in sections:
        if kind != _DYNSYM or not entry_size:
            continue
        strings = sections[link][4]
        for at in range(offset, offset + length, entry_size):
            name, _, _, where = struct.unpack_from("<IBBH", data, at)
            if name and where:
                start = strings + name
                yield data[start : data.index(b"\0", start)].decode("ascii", "replace")
