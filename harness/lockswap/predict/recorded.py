"""What processes under LOCKSWAP_RECORD left behind, as lockswap-calls-read sums it up."""

import json
import subprocess
from dataclasses import dataclass, fields
from pathlib import Path

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.base.text import as_word

SUFFIX = ".lockcalls"


@dataclass(frozen=True)
class Recorded:
    file: Path
    program: str
    pid: int
    threads: int
    mutexes: int
    rwlocks: int
    locks: int  # acquisitions of mutexes
    reads: int
    writes: int
    waits: int  # for conditions
    failed: int  # tries, and acquisitions that timed out
    left_out: int
    preempted_ns: int
    in_calls_ns: int
    begin_ns: int
    end_ns: int
    cpu_ns: int  # 0: not known, as of a process that was killed
    pair_ns_256: int
    chunk_ns: int  # for what the calls were written into
    most_bytes: int
    full: bool

    @property
    def acquisitions(self) -> int:
        return self.locks + self.reads + self.writes

    @property
    def seconds(self) -> float:
        return (self.end_ns - self.begin_ns) / 1e9

    @property
    def pair_ns(self) -> float:
        """What recording adds to a lock and its release."""
        return self.pair_ns_256 / 256 + self.chunk_ns / max(1, self.acquisitions)

    @property
    def cost(self) -> float | None:
        """The share of the processor time that recording took."""
        return self.acquisitions * self.pair_ns / self.cpu_ns if self.cpu_ns else None


def read_file(paths: Paths, file: Path) -> Recorded | None:
    """None: the process was stopped while it made the file."""
    done = subprocess.run([paths.calls_reader, file], capture_output=True, text=True)
    if done.returncode != 0:
        raise UserError(f"{done.stderr.strip()}; record the program again with this lockswap")
    found = json.loads(done.stdout)["processes"]
    names = [field.name for field in fields(Recorded) if field.name != "file"]
    return Recorded(file=file, **{name: found[0][name] for name in names}) if found else None


def read_folder(paths: Paths, folder: Path) -> list[Recorded]:
    """Those that took locks, the one with the most acquisitions first."""
    found = [read_file(paths, file) for file in sorted(folder.glob(f"*{SUFFIX}"))]
    return sorted((one for one in found if one and one.acquisitions), key=lambda one: -one.acquisitions)


def find(paths: Paths, place: Path) -> Recorded:
    """A file, or of a folder the process that acquired most."""
    if not place.exists():
        raise UserError(f"{place} doesn't exist: make it with 'lockswap record --out {as_word(place)} -- PROGRAM'")
    found = read_folder(paths, place) if place.is_dir() else [read_file(paths, place)]
    if not found or found[0] is None or not found[0].acquisitions:
        raise UserError(f"{place} has no acquisition of a lock, so there is nothing to replay: record a longer run")
    return found[0]
