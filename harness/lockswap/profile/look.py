"""One look at what a running process has recorded so far."""

import json
import os
import subprocess
import time as clock
from dataclasses import dataclass
from pathlib import Path

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.profile.attach import Attached
from lockswap.profile.window import MODES


@dataclass(frozen=True)
class Look:
    """One reading of the file, and when."""

    at: float
    recording: Path
    process: dict
    threshold_ns: int

    def waits(self, number: int) -> dict[tuple, int]:
        """The waits that go on for locks of a class: how old they are. The key is the same in each look."""
        return {
            (one["tid"], wait["since"]): wait["age_ns"]
            for one in self.process["threads_now"]
            for wait in one["waits"][-1:]
            if one["tid"] and wait["class"] == number
        }


def ended_ns(lock: dict) -> int:
    """All waits for it that are over."""
    return sum(lock[mode]["wait_ns"] for mode in MODES if mode in lock) + lock["timed_out_ns"]


def waited_ns(last: Look | None, now: Look, lock: dict, passed_ns: int) -> int:
    """How long threads waited for it since the look before.

    Each look takes the speed of the counter anew, so the ages of a long wait in two looks differ by more than has
    passed. A wait that is in both has gone on for as long as has passed.
    """
    before = next((one for one in last.process["locks"] if one["class"] == lock["class"]), None) if last else None
    old = last.waits(lock["class"]) if last else {}
    new = now.waits(lock["class"])
    over = ended_ns(lock) - (ended_ns(before) if before else 0)
    over -= sum(age for key, age in old.items() if key not in new)
    return max(0, over) + sum(passed_ns if key in old else min(age, passed_ns) for key, age in new.items())


def look(paths: Paths, pid: int, with_history: bool = False) -> Look | None:
    """None: the process has not called a lock function. The history is of single waits, and long."""
    attached = Attached(pid)
    command = [paths.profile_reader, "--live-with-history" if with_history else "--live", attached.recording]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise UserError(f"{done.stderr.strip()}; look with the lockswap that the program was started with")
    recorded = json.loads(done.stdout)
    processes = recorded["processes"]
    if not processes or processes[0]["pid"] != attached.inner_pid:
        return None
    processes[0]["made_code"] = attached.made_code()
    return Look(clock.monotonic(), attached.recording, processes[0], recorded["threshold_ns"])


def records_in(pid: int, folder: Path) -> bool:
    """Whether this process runs, and records there."""
    try:
        return Attached(pid).recording.parent.samefile(folder)
    except (UserError, OSError):
        return False


def sleeps(pid: int) -> dict[int, int]:
    """How often each thread gave its processor up by itself, so far."""
    found = {}
    for file in Path(f"/proc/{pid}/task").glob("*/status"):
        try:
            lines = file.read_text(errors="replace").splitlines()
        except OSError:
            continue
        counts = [line.split()[1] for line in lines if line.startswith("voluntary_ctxt_switches:")]
        if counts:
            found[int(file.parent.name)] = int(counts[0])
    return found


def cpu_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
