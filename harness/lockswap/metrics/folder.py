"""The files of a folder: which process each is of, and whether that still runs."""

import re
from dataclasses import dataclass
from pathlib import Path

from lockswap.base.errors import UserError, may_not_be_inspected, no_process
from lockswap.base.process import folder_of, has_ended
from lockswap.metrics.record import SUFFIX, Record, UnreadableError, read

_HOW = "start the program with LOCKSWAP_METRICS=DIR and the library"


@dataclass(frozen=True)
class Found:
    records: list[Record]
    unreadable: list[UnreadableError]


def of_folder(folder: Path) -> Found:
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}; name the one that LOCKSWAP_METRICS has")
    found = Found([], [])
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            record = read(path)
        except UnreadableError as error:
            found.unreadable.append(error)
            continue
        if record is not None:
            found.records.append(record)
    return found


def of_process(pid: int) -> Record:
    path = mapped_by(pid)
    if path is None:
        raise UserError(f"process {pid} doesn't count for monitoring; {_HOW}")
    record = read(path)
    if record is None:
        raise UserError(f"process {pid} has just begun its file; ask again")
    return record


def mapped_by(pid: int) -> Path | None:
    """The file that the process has mapped, also where its root is another one."""
    try:
        maps = (folder_of(pid) / "maps").read_text(errors="surrogateescape")
    except FileNotFoundError as error:
        raise no_process(pid) from error
    except OSError as error:
        raise may_not_be_inspected(pid) from error
    names = re.findall(rf" (/\S.*{re.escape(SUFFIX)})$", maps, re.MULTILINE)
    if not names:
        return None
    within = Path(f"{folder_of(pid)}/root{names[0]}")
    return within if within.exists() else Path(names[0])


def is_alive(record: Record, all_of_folder: list[Record]) -> bool | None:
    """None: its number is one of another container."""
    if record.has_ended:
        return False
    if record.pid_namespace != _own_namespace():
        return None
    if _start_time(record.pid) != record.start_time:
        return False
    # A program that the process executed has a file of its own, with a higher number.
    return not any(
        one.pid == record.pid and one.start_time == record.start_time and _number(one.path) > _number(record.path)
        for one in all_of_folder
    )


def clean(found: Found) -> list[Path]:
    """Removes the files of processes that have ended; those that can't be read are left."""
    removed = []
    for record in found.records:
        if is_alive(record, found.records) is False:
            record.path.unlink(missing_ok=True)
            removed.append(record.path)
    return removed


def _number(path: Path) -> int:
    number = path.name.removesuffix(SUFFIX).rpartition(".")[2]
    return int(number) if number.isdigit() else -1


def _start_time(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        return -1 if has_ended(pid) else int(text.rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return -1


def _own_namespace() -> int:
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return -1
