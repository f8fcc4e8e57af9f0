"""Files that survive a killed harness, a full disk and a power cut. Errors are OSErrors."""

import contextlib
import os
import re
from pathlib import Path


def replace(path: Path, text: str) -> None:
    """All or nothing: neither a reader nor a crash ever leaves half a file."""
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        sync_folder(path.parent)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def sync_folder(path: Path) -> None:
    """Makes the names of its files survive a power cut, too."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    except OSError:
        pass  # some file systems cannot
    finally:
        os.close(fd)


class Lines:
    """A file of lines that grows by whole lines: each is on the disk when `add` returns."""

    # What is kept free for the line of the run that finds the disk full.
    _RESERVE = 64 << 10

    def __init__(self, path: Path) -> None:
        self._reserve = path.with_name(f".{path.name}.reserve")
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        there = path.read_bytes()
        kept = whole(there)
        if len(kept) < len(there):
            os.ftruncate(self._fd, len(kept))
        self.is_empty = not kept
        self._reserve.write_bytes(bytes(self._RESERVE))
        sync_folder(path.parent)

    def add(self, text: str) -> None:
        """Raises OSError if the disk was full, although the line may have found its place in the reserve."""
        data = text.encode()
        try:
            self._append(data)
        except OSError:
            if self._give_up_reserve():
                with contextlib.suppress(OSError):
                    self._append(data)
            raise

    def close(self) -> None:
        self._give_up_reserve()
        os.close(self._fd)

    def _append(self, data: bytes) -> None:
        begin = os.fstat(self._fd).st_size
        try:
            done = 0
            while done < len(data):
                done += os.write(self._fd, data[done:])
            os.fdatasync(self._fd)
        except OSError:
            os.ftruncate(self._fd, begin)
            raise

    def _give_up_reserve(self) -> bool:
        try:
            self._reserve.unlink()
        except OSError:
            return False
        return True


def whole(data: bytes) -> bytes:
    """The lines of a CSV file that were written to their ends. A line break in quotes ends none; after a power cut a
    file may end in zeroes."""
    data = data.partition(b"\0")[0]
    end = quotes = 0
    for found in re.finditer(rb'["\n]', data):
        if found[0] == b'"':
            quotes += 1
        elif quotes % 2 == 0:
            end = found.end()
    return data[:end]
