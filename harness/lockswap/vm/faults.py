"""Page faults by perf: whether it may record them here, how, and what it wrote."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

_LINE = re.compile(r"^ *(\d+) +(\d+)\.(\d{9}): +([0-9a-f]+)")
_EVENTS = ("page-faults", "page-faults:u")  # the second: those of user mode alone, which need no privilege


@dataclass(frozen=True)
class Fault:
    thread: int
    at: int
    address: int


def recorder(folder: Path) -> tuple[list[str] | None, str]:
    """The words that stand before a command whose faults are recorded; None, and why not."""
    if shutil.which("perf") is None:
        return None, "perf is not installed"
    why = ""
    for event in _EVENTS:
        line = _record(event, folder / "tried")
        try:
            tried = subprocess.run([*line, "true"], capture_output=True, text=True, errors="replace", timeout=60)
            if tried.returncode == 0 and _script(folder / "tried").strip():
                return _record(event, folder / "faults"), ""
            why = next((text.strip() for text in tried.stderr.splitlines() if text.strip()), "it records nothing")
        except (OSError, subprocess.SubprocessError) as error:
            why = str(error)
    return None, f"perf may not record them: {why.rstrip(':')}"


def _record(event: str, file: Path) -> list[str]:
    # strace's times are of the same clock.
    return ["perf", "record", "-q", "-e", event, "-c", "1", "-d", "-k", "CLOCK_REALTIME", "-o", str(file), "--"]


def _script(file: Path) -> str:
    line = ["perf", "script", "-i", str(file), "-F", "tid,time,addr", "--ns"]
    return subprocess.run(line, capture_output=True, text=True, errors="replace", check=True).stdout


def read(folder: Path) -> list[Fault]:
    """All faults, also those of strace itself."""
    return parse(_script(folder / "faults"))


def parse(text: str) -> list[Fault]:
    found = []
    for line in text.splitlines():
        if match := _LINE.match(line):
            found.append(Fault(int(match[1]), int(match[2]) * 10**9 + int(match[3]), int(match[4], 16)))
    return found
