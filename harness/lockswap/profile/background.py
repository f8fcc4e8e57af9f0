"""Processes that go on, and record, after the program that was started has ended: daemons, above all."""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lockswap.base.process import folder_of
from lockswap.base.text import plural, words
from lockswap.profile import look as live

_BETWEEN_LOOKS_S = 0.1
_LOOKS_ASLEEP = 3  # in which a process has not run, so that it isn't one that is starting
_STARTS_FOR_S = 10.0
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass
class Followed:
    """What was seen of them until they ended, or the wait for them was interrupted."""

    ended_ns: dict[int, int] = field(default_factory=dict)  # by process; at most one look late
    cpu_s: float = 0
    still_run: list[int] = field(default_factory=list)


def follow(folder: Path, command: str, began_s: float) -> Followed:
    """Waits for them. An interrupt, or a signal that ends the command, ends the wait.

    began_s: when the command was started, by CLOCK_BOOTTIME.
    """
    found = Followed(still_run=_recording(folder, began_s))
    if not found.still_run:
        return found
    who = f"{plural(len(found.still_run), 'process')} ({words(found.still_run)})"
    print(
        f"lockswap profile: {command} has ended and left {who} behind; "
        "the profile comes when nothing of it runs any more, or now by Ctrl-C",
        file=sys.stderr,
    )
    cpu: dict[int, float] = {}
    with contextlib.suppress(KeyboardInterrupt):
        while found.still_run:
            cpu |= {pid: live.cpu_seconds(pid) for pid in found.still_run}
            time.sleep(_BETWEEN_LOOKS_S)
            running = [pid for pid in found.still_run if live.records_in(pid, folder)]
            ended = set(found.still_run) - set(running)
            found.ended_ns |= dict.fromkeys(ended, time.monotonic_ns())
            # They may have left others behind in turn.
            found.still_run = _recording(folder, began_s) if ended else running
    found.cpu_s = sum(cpu.values())
    return found


def _recording(folder: Path, began_s: float) -> list[int]:
    """Those that record in the folder.

    If there are none, but one that was just left behind may still be starting, waits until it records or sleeps.
    """
    begin = time.monotonic()
    looks: dict[int, tuple[str | None, int]] = {}
    while True:
        processes = list(_since(began_s))
        if found := sorted(int(one.name) for one in processes if _records(one, folder)):
            return found
        starting = False
        for process in processes:
            if _is_to_record(process, folder):
                pid, now = int(process.name), _switches(process)
                last, times = looks.get(pid, (None, 0))
                looks[pid] = now, (times + 1 if now is not None and now == last else 0)
                starting |= looks[pid][1] < _LOOKS_ASLEEP
        if not starting or time.monotonic() > begin + _STARTS_FOR_S:
            return []
        time.sleep(_BETWEEN_LOOKS_S)


def _since(began_s: float) -> Iterator[Path]:
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if _started_s(process) >= began_s - _TICK_S:
                yield process


def _records(process: Path, folder: Path) -> bool:
    """By its memory map: a forked child has its parent's file until it calls a lock function itself."""
    with contextlib.suppress(OSError):
        return f"{folder.resolve()}/" in (_shown(process) / "maps").read_text(errors="surrogateescape")
    return False


def _is_to_record(process: Path, folder: Path) -> bool:
    with contextlib.suppress(OSError):
        environment = (_shown(process) / "environ").read_text(errors="surrogateescape")
        return f"LOCKSWAP_PROFILE={folder}" in environment.split("\0")
    return False


def _switches(process: Path) -> str | None:
    """How often it gave up a processor, which doesn't change while it sleeps. None: it isn't asleep."""
    with contextlib.suppress(OSError):
        lines = (_shown(process) / "status").read_text(errors="replace").splitlines()
        if any(line.startswith("State:\tS") for line in lines):
            return "".join(line for line in lines if "ctxt_switches" in line)
    return None


def _shown(process: Path) -> Path:
    return folder_of(int(process.name))


def _started_s(process: Path) -> float:
    return int((process / "stat").read_text(errors="replace").rpartition(")")[2].split()[19]) * _TICK_S
