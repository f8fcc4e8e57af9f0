"""A process that runs now: its recording, its threads, and its memory map, from /proc."""

import os
import re
import stat
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from elftools.common.exceptions import ELFError

from lockswap.base.errors import UserError, may_not_be_inspected, no_process
from lockswap.base.process import ENDED, folder_of, has_ended
from lockswap.base.program_headers import LOAD, program_headers

SUFFIX = ".lockprof"
_HOW = "start the program with `lockswap profile -- CMD`, or with LOCKSWAP_PROFILE=DIR and the library"


@dataclass(frozen=True)
class Task:
    """A thread, as the kernel lists it."""

    tid: int
    name: str
    state: str


@dataclass(frozen=True)
class Mapping:
    begin: int
    end: int
    offset: int
    path: str
    is_code: bool
    is_shared: bool


class WithoutLockswapError(UserError):
    """The process was started without the library."""


class Attached:
    """Raises UserError, with one line that says why, if there is nothing to look at."""

    def __init__(self, pid: int, needs_recording: bool = True) -> None:
        self.pid = pid
        self._proc = Path(f"/proc/{pid}")
        self._shown = folder_of(pid)
        self._maps = self._read_maps()
        self.recording = self._find_recording() if needs_recording else Path()

    @property
    def program(self) -> str:
        return _first_line(self._proc / "comm") or "?"

    @property
    def inner_pid(self) -> int:
        """The number that the process has for itself, in a container."""
        return _inner_id(self._proc, self.pid)

    def tasks(self) -> dict[int, Task]:
        """Threads that have not ended, by the number that the process itself has for each."""
        found = {}
        for folder in (self._proc / "task").glob("*"):
            try:
                stat = (folder / "stat").read_text(errors="replace")
            except OSError:
                continue
            name, _, rest = stat.partition("(")[2].rpartition(")")
            letter = rest.split()[0]
            if letter in ENDED:
                continue
            state = {"R": "runs", "D": "is in the kernel, for a disk or the like", "T": "is stopped"}.get(
                letter, "sleeps"
            )
            found[_inner_id(folder, int(folder.name))] = Task(int(folder.name), name, state)
        return found

    def word(self, address: int) -> int | None:
        """32 bits of its memory; None: it may not be read."""
        try:
            with (self._shown / "mem").open("rb", buffering=0) as memory:
                memory.seek(address)
                return int.from_bytes(memory.read(4), "little")
        except (OSError, ValueError, OverflowError):
            return None

    def is_shared(self, address: int) -> bool:
        """Whether other processes may have the same memory."""
        return any(one.begin <= address < one.end and one.is_shared for one in self._maps)

    def files(self) -> list[tuple[int, str]]:
        """The mapped files, and where each mapping of theirs begins, the lowest first."""
        return [(one.begin, one.path) for one in self._maps if one.path.startswith("/")]

    def file_at(self, address: int) -> str | None:
        """The file that is mapped there; None: there is none."""
        i = bisect_right([one.begin for one in self._maps], address) - 1
        if i < 0 or address >= self._maps[i].end or not self._maps[i].path.startswith("/"):
            return None
        return self._maps[i].path

    def modules(self) -> list[dict]:
        """The mapped files as a recording has them, but for their build-ids."""
        begins: dict[str, int] = {}
        for begin, path in self.files():
            begins.setdefault(path, begin)
        return [{"path": path, "build_id": "", "begin": begin} for path, begin in begins.items()]

    def made_code(self) -> list[tuple[int, int]]:
        """Code in no file: a compiler's in the program."""
        return [
            (one.begin, one.end)
            for one in self._maps
            if one.is_code and (not one.path or one.path.startswith(("[anon", "/memfd:")))
        ]

    def place(self, address: int) -> tuple[str, int] | None:
        """The file that an address lies in, and the address as the file's own tables have it."""
        i = bisect_right([one.begin for one in self._maps], address) - 1
        if i < 0 or address >= self._maps[i].end or not self._maps[i].path.startswith("/"):
            return None
        mapping = self._maps[i]
        offset = address - mapping.begin + mapping.offset
        try:
            with Path(mapping.path).open("rb") as opened:
                for segment in program_headers(opened, LOAD):
                    if 0 <= offset - segment.offset < segment.file_size:
                        return mapping.path, offset - segment.offset + segment.address
        except (OSError, ELFError):
            pass
        return None

    def _read_maps(self) -> list[Mapping]:
        if not self._proc.is_dir():
            raise no_process(self.pid)
        try:
            lines = (self._shown / "maps").read_text(errors="surrogateescape").splitlines()
        except PermissionError as error:
            raise may_not_be_inspected(self.pid) from error
        except OSError as error:
            raise UserError(f"process {self.pid} has just ended") from error
        if not lines:
            state = "has ended, and its parent has not asked for its status" if has_ended(self.pid) else "is a kernel's"
            raise UserError(f"process {self.pid} {state}; there is nothing to look at")
        return [_mapping(line) for line in lines]

    def _profiled(self) -> int | None:
        """The program, if this is the command that waits for it."""
        try:
            words = (self._shown / "cmdline").read_text(errors="replace").split("\0")
            children = [pid for file in self._proc.glob("task/*/children") for pid in file.read_text().split()]
        except OSError:
            return None
        if ("lockswap", "profile") not in {(Path(one).name, other) for one, other in pairwise(words)}:
            return None
        return next((int(pid) for pid in children if _is_recorded(int(pid))), None)

    def _why_not_recorded(self) -> str:
        try:
            variables = (self._shown / "environ").read_text(errors="surrogateescape").split("\0")
        except OSError:
            variables = []
        folder = next((one.partition("=")[2] for one in variables if one.startswith("LOCKSWAP_PROFILE=")), "")
        if not folder:
            return f"process {self.pid} runs with lockswap, but is not recorded; {_HOW}"
        return (
            f"process {self.pid} is to be recorded in {folder}, but has no recording: either it has just started "
            "(then ask again), or no file could be made there (then its stderr says why)"
        )

    def _find_recording(self) -> Path:
        paths = {one.path for one in self._maps}
        recordings = {path for path in paths if path.removesuffix(" (deleted)").endswith(SUFFIX)}
        if not recordings:
            if any(re.search(r"/liblockswap\.so", path) for path in paths):
                raise UserError(self._why_not_recorded())
            if (program := self._profiled()) is not None:
                raise UserError(f"process {self.pid} is `lockswap profile`; ask about its program, process {program}")
            raise WithoutLockswapError(f"process {self.pid} runs without lockswap; {_HOW}")
        path = min(recordings)
        if path.endswith(" (deleted)"):
            raise UserError(
                f"process {self.pid} is recorded, but its file {path.split(' (')[0]} was removed; "
                "start the program again, and keep the file"
            )
        # Its root is another one in a container.
        within = Path(f"{self._shown}/root{path}")
        found = Path(path) if Path(path).exists() else within
        if not os.access(found, os.R_OK):
            raise UserError(
                f"process {self.pid} is recorded in {path}, which may not be read; ask as its owner or as root"
            )
        self._refuse_planted(found)
        return found

    def _refuse_planted(self, recording: Path) -> None:
        """The name may have come to another file, or the process may have mapped one of somebody else."""
        status = recording.lstat()
        # A server has often begun as root.
        owners = {0, *map(int, _status(self._proc, "Uid").split())}
        if not stat.S_ISREG(status.st_mode) or status.st_uid not in owners:
            raise UserError(
                f"process {self.pid} is recorded in {recording}, which is no longer a file of its user; don't trust it"
            )


def recorded_children(pid: int) -> list[int]:
    """Those that are recorded themselves, or a descendant of those that aren't."""
    found = []
    try:
        children = [
            int(word) for file in Path(f"/proc/{pid}/task").glob("*/children") for word in file.read_text().split()
        ]
    except OSError:
        return []
    for child in children:
        found += [child] if _is_recorded(child) else recorded_children(child)
    return found


def _is_recorded(pid: int) -> bool:
    try:
        return f"{SUFFIX}\n" in (folder_of(pid) / "maps").read_text(errors="replace")
    except OSError:
        return False


def _mapping(line: str) -> Mapping:
    fields = line.split(maxsplit=5)
    begin, end = (int(part, 16) for part in fields[0].split("-"))
    path = fields[5] if len(fields) == 6 else ""
    return Mapping(begin, end, int(fields[2], 16), path, "x" in fields[1], fields[1].endswith("s"))


def _first_line(file: Path) -> str:
    try:
        return file.read_text(errors="replace").split("\n", 1)[0]
    except OSError:
        return ""


def _status(folder: Path, key: str) -> str:
    try:
        lines = (folder / "status").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(f"{key}:")), "")


def _inner_id(folder: Path, outer: int) -> int:
    ids = _status(folder, "NSpid").split()
    return int(ids[-1]) if ids else outer
