"""`perf stat` around a run: which events open on this machine, and what it printed."""

import shutil
import subprocess
from pathlib import Path

SOFTWARE = ("task-clock", "context-switches", "cpu-migrations", "page-faults")
HARDWARE = ("cycles", "instructions")


def usable_events() -> list[str] | None:
    """The events that count here, found by trying once; None if perf is missing or forbidden."""
    if shutil.which("perf") is None:
        return None
    events = ",".join(SOFTWARE + HARDWARE)
    try:
        done = subprocess.run(["perf", "stat", "-x,", "-e", events, "true"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return None
    if done.returncode != 0:
        return None
    counted = parse(done.stderr)
    return [event for event in SOFTWARE + HARDWARE if event in counted] or None


def wrap(events: list[str], out: Path) -> list[str]:
    return ["perf", "stat", "-x,", "-o", str(out), "-e", ",".join(events), "--"]


def parse(text: str) -> dict[str, float]:
    """Event -> count from `perf stat -x,`; events that did not count are left out. task-clock is in milliseconds."""
    counted = {}
    for line in text.splitlines():
        fields = line.split(",")
        if len(fields) < 3 or line.startswith("#"):
            continue
        try:
            value = float(fields[0])
        except ValueError:  # <not supported>, <not counted>
            continue
        counted[fields[2].split(":")[0]] = value
    return counted
