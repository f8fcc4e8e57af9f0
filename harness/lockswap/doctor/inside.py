"""A running process with the library, or without: its files, and what the library there says."""

import os
from functools import cached_property
from pathlib import Path

from lockswap.base.process import folder_of
from lockswap.doctor.asked import Memory, WhatRuns, ask
from lockswap.profile.attach import Attached

LIBRARY = "liblockswap.so"
OBSERVERS = ("liblockswap-audit.so", "liblockswap-fuzz.so")


class Inside:
    """Raises UserError, with one line that says why, if the process may not be looked at."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._proc = folder_of(pid)
        self.attached = Attached(pid, needs_recording=False)

    @property
    def program(self) -> str:
        return self.attached.program

    @cached_property
    def begins(self) -> dict[str, int]:
        """The mapped files, and where the first mapping of each begins."""
        found: dict[str, int] = {}
        for begin, path in self.attached.files():
            found.setdefault(path, begin)
        return found

    def file(self, path: str) -> Path:
        """A file of the process: its root may be another one."""
        return Path(f"{self._proc}/root{path.removesuffix(' (deleted)')}")

    @cached_property
    def libraries(self) -> list[str]:
        """Copies of the library; more than one if it is preloaded twice."""
        return [path for path in self.begins if Path(path).name.startswith(LIBRARY)]

    @property
    def observers(self) -> list[str]:
        return [Path(path).name for path in self.begins if Path(path).name.startswith(OBSERVERS)]

    def module_at(self, address: int) -> str | None:
        """The file that is mapped there."""
        return self.attached.file_at(address)

    @cached_property
    def executable(self) -> Path:
        """By its own name, if that still leads to it."""
        link = self._proc / "exe"
        try:
            named = self.file(str(link.readlink()))
            return named if named.samefile(link) else link
        except OSError:
            return link

    def ask(self, memory: Memory) -> WhatRuns | None:
        """What the library says that runs here. A second copy of it says nothing."""
        said = (ask(memory, self.file(path), self.begins[path]) for path in self.libraries)
        return next((one for one in said if one is not None), None)

    def environment(self) -> dict[str, str]:
        """As it was at the last exec."""
        text = self._read("environ")
        return dict(one.split("=", 1) for one in text.split("\0") if "=" in one)

    def status(self, key: str) -> str:
        lines = self._read("status").splitlines()
        return next((line.partition(":")[2].strip() for line in lines if line.startswith(f"{key}:")), "")

    def is_secure(self) -> bool:
        """AT_SECURE: the loader has dropped LD_PRELOAD."""
        return self._auxiliary(23) == 1

    def started(self) -> float:
        """Seconds since 1970."""
        fields = Path(f"/proc/{self.pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        boot = next(int(line.split()[1]) for line in Path("/proc/stat").read_text().splitlines() if "btime" in line)
        return boot + int(fields[19]) / os.sysconf("SC_CLK_TCK")

    def _auxiliary(self, key: int) -> int | None:
        try:
            data = (self._proc / "auxv").read_bytes()
        except OSError:
            return None
        words = [int.from_bytes(data[at : at + 8], "little") for at in range(0, len(data), 8)]
        return dict(zip(words[::2], words[1::2], strict=False)).get(key)

    def _read(self, name: str) -> str:
        try:
            return (self._proc / name).read_text(errors="replace")
        except OSError:
            return ""
