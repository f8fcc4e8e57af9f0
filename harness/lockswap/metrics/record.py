"""The file that a process under LOCKSWAP_METRICS counts in: its bytes are laid out in metrics/record.h.

The process may write meanwhile, and the file may be damaged: whatever is in it, reading ends with a Record or with an
UnreadableError.
"""

import os
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lockswap.base.errors import UserError

SUFFIX = ".lockmetrics"
MAGIC = int.from_bytes(b"lpmetric", "little")
SCHEMA = 1
MODULES, MODULE = 256, 296
MOST_SERIES, FRAMES, BUCKETS = 201, 8, 16
HEAD = struct.Struct("<QIIIIII64s512s")
RUNNING = struct.Struct("<16s32s32sQQQII")
ORIGIN = struct.Struct("<II9Q")
COUNTS = struct.Struct("<3Q17Q17Q")
AT_RUNNING = HEAD.size + MODULES * MODULE
AT_SERIES = AT_RUNNING + RUNNING.size
SERIES = ORIGIN.size + 2 * COUNTS.size
SIZE = AT_SERIES + MOST_SERIES * SERIES

KINDS = ("mutex", "rwlock")
MODES = ("exclusive", "shared")  # the second is of reader-writer locks alone
REST = "any"  # the kind of what found no series of its own
# The upper bounds of the buckets in seconds, as both text formats write numbers.
BOUNDS = (
    *("1e-06", "5e-06", "1e-05", "5e-05", "0.0001", "0.0005", "0.001", "0.005"),
    *("0.01", "0.05", "0.1", "0.5", "1.0", "5.0", "10.0"),
)


class UnreadableError(UserError):
    """The file is none of these, is of another version, or is damaged."""


@dataclass(frozen=True)
class Counts:
    acquisitions: int
    failed_tries: int
    timeouts: int
    wait_ns: int
    waits: tuple[int, ...]  # by bucket
    hold_ns: int
    holds: tuple[int, ...]


@dataclass(frozen=True)
class Series:
    number: int
    kind: str
    object: list[int] | None  # module and address, as lockswap.profile.names takes them
    frames: list[list[int]]
    counts: dict[str, Counts]  # by mode

    @property
    def is_rest(self) -> bool:
        return self.number == 0


@dataclass(frozen=True)
class Record:
    path: Path
    pid: int
    has_ended: bool  # through exit handlers
    program: str
    modules: tuple[tuple[str, str], ...]  # path and build-id
    version: str
    rwlock: str
    mutex: str
    started: float  # seconds since 1970
    start_time: int  # as in /proc/PID/stat
    pid_namespace: int
    counts_holds: bool
    series: tuple[Series, ...]


def read(path: Path) -> Record | None:
    """None: the process was stopped while it made the file."""
    try:
        # Others may write to the folder: no link is followed, and no pipe waited for.
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise UnreadableError(f"{path} can't be read: {error.strerror}") from error
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise UnreadableError(f"{path} is not a file of LOCKSWAP_METRICS; leave only such files in the folder")
        content = os.read(file, SIZE)
    except OSError as error:
        raise UnreadableError(f"{path} can't be read: {error.strerror}") from error
    finally:
        os.close(file)
    return parse(path, content)


def parse(path: Path, content: bytes) -> Record | None:
    if not any(content[:8]):
        return None
    if len(content) < HEAD.size:
        raise UnreadableError(f"{path} is cut; remove it")
    magic, schema, size, pid, _, ended, modules, program, exe = HEAD.unpack_from(content)
    if magic != MAGIC:
        raise UnreadableError(f"{path} is not a file of LOCKSWAP_METRICS; leave only such files in the folder")
    if schema != SCHEMA:
        raise UnreadableError(f"{path} has format {schema}, not {SCHEMA}; read it with the lockswap that wrote it")
    if size != SIZE or len(content) < SIZE:
        raise UnreadableError(f"{path} is cut; remove it")
    version, rwlock, mutex, started, start_time, namespace, holds, count = RUNNING.unpack_from(content, AT_RUNNING)
    modules = min(modules, MODULES)
    return Record(
        path=path,
        pid=pid,
        has_ended=ended != 0,
        program=_text(program),
        modules=tuple(_modules(content, modules, _text(exe))),
        version=_text(version),
        rwlock=_text(rwlock),
        mutex=_text(mutex),
        started=started / 1e9,
        start_time=start_time,
        pid_namespace=namespace,
        counts_holds=holds != 0,
        series=tuple(_series(content, n, modules) for n in range(min(count, MOST_SERIES))),
    )


def _text(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode(errors="replace")


def _modules(content: bytes, count: int, exe: str) -> Iterator[tuple[str, str]]:
    for n in range(count):
        at = HEAD.size + n * MODULE
        (build_id_size,) = struct.unpack_from("<I", content, at + 16)
        build_id = content[at + 20 : at + 20 + min(build_id_size, 20)].hex()
        yield _text(content[at + 40 : at + MODULE]) or exe, build_id


def _series(content: bytes, number: int, modules: int) -> Series:
    at = AT_SERIES + number * SERIES
    kind, frames, owner, *places = ORIGIN.unpack_from(content, at)
    kind = KINDS[min(kind, len(KINDS) - 1)] if number else REST
    counts = {}
    for n, mode in enumerate(MODES[:1] if kind == "mutex" else MODES):
        acquisitions, failed, timeouts, *times = COUNTS.unpack_from(content, at + ORIGIN.size + n * COUNTS.size)
        waits, holds = times[: BUCKETS + 1], times[BUCKETS + 1 :]
        counts[mode] = Counts(acquisitions, failed, timeouts, waits[0], tuple(waits[1:]), holds[0], tuple(holds[1:]))
    places = [_place(one, modules) for one in places[: min(frames, FRAMES)]]
    return Series(number, kind, _place(owner, modules) if owner else None, places, counts)


def _place(value: int, modules: int) -> list[int]:
    """As recording/place.h has it; the module is -1 where none is known."""
    module, address = value >> 48, value & ((1 << 48) - 1)
    return [module if module < modules else -1, address]
