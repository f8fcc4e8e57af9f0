"""Processes that go on, and record, after the program that was started has ended: daemons, above all."""

import contextlib
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from lockswap.base.text import plural, words
from lockswap.profile import look as live

_BETWEEN_LOOKS_S = 0.1
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
    found = Followed(still_run=_all(folder, began_s))
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
            found.still_run = _all(folder, began_s) if ended else running
    found.cpu_s = sum(cpu.values())
    return found


def _all(folder: Path, began_s: float) -> list[int]:
    """By their memory maps: a forked child has its parent's file until it calls a lock function itself."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if _started_s(process) < began_s - _TICK_S:
                continue  # maps can be long
            if f"{folder.resolve()}/" in (process / "maps").read_text(errors="surrogateescape"):
                found.append(int(process.name))
    return sorted(found)


def _started_s(process: Path) -> float:
    return int((process / "stat").read_text(errors="replace").rpartition(")")[2].split()[19]) * _TICK_S
