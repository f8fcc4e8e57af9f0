"""`--perf-record`: where threads wait. An extra run a cell under perf, after the measured ones; only summaries stay."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

FUTEX, OFF_CPU = "futex", "off-cpu"
KINDS = (FUTEX, OFF_CPU)

_MOST_THREADS = 40
_COMMANDS = {
    FUTEX: ("perf", "trace", "-s", "-e", "futex", "-o"),
    # The kernel notes each time when a thread leaves or gets a CPU; the dummy event itself never fires.
    OFF_CPU: ("perf", "record", "-q", "--switch-events", "-e", "dummy:u", "-o"),
}
_FILES = {FUTEX: "trace.futex", OFF_CPU: "trace.switches"}


def usable() -> tuple[tuple[str, ...], list[str]]:
    """The kinds that work here, each tried once on a program that does nothing; a line for each that does not."""
    if shutil.which("perf") is None:
        return (), ["--perf-record: perf is not installed, so there are no traces; 'apt-get install linux-perf'"]
    good, problems = [], []
    for kind in KINDS:
        why = _why_not(kind)
        if why is None:
            good.append(kind)
        else:
            command = " ".join(_COMMANDS[kind][:2])
            problems.append(f"--perf-record: no {kind} traces, since '{command}' does not work here: {why}")
    return tuple(good), problems


def _why_not(kind: str) -> str | None:
    with tempfile.TemporaryDirectory(prefix="lockswap-") as folder:
        line = [*wrap([kind], Path(folder)), "true"]
        try:
            tried = subprocess.run(line, capture_output=True, text=True, errors="replace", timeout=60)
        except (OSError, subprocess.SubprocessError) as error:
            return str(error)
    if tried.returncode == 0:
        return None
    return next((text.strip() for text in tried.stderr.splitlines() if text.strip()), "it says nothing more")


def wrap(kinds: Iterable[str], folder: Path) -> list[str]:
    return [word for kind in kinds for word in (*_COMMANDS[kind], str(folder / _FILES[kind]), "--")]


def summaries(kinds: Iterable[str], folder: Path) -> dict[str, str]:
    """What the traces of one run say, by kind; a kind that left nothing is left out."""
    found = {}
    for kind in kinds:
        file = folder / _FILES[kind]
        if file.exists() and kind == FUTEX:
            found[kind] = futex_summary(file.read_text(errors="replace"))
        elif file.exists():
            found[kind] = off_cpu_summary(_switches(file))
    return found


@dataclass
class Waits:
    """How often and how long a thread did not go on; in milliseconds."""

    count: int = 0
    total: float = 0.0
    longest: float = 0.0

    def add(self, milliseconds: float) -> None:
        self.count += 1
        self.total += milliseconds
        self.longest = max(self.longest, milliseconds)

    def cells(self) -> tuple[str, ...]:
        mean = self.total / self.count if self.count else 0.0
        return f"{self.count}", f"{self.total:.1f}", f"{mean:.3f}", f"{self.longest:.1f}"


_THREAD = re.compile(r"^ (.+) \((\d+)\), \d+ events")
_CALLS = re.compile(r"^\s+futex\s+(\d+)\s+(\d+)\s+([\d.]+)\s+[\d.]+\s+[\d.]+\s+([\d.]+)")


def futex_summary(text: str) -> str:
    """From `perf trace -s`: a block a thread, with a line for its futex calls."""
    rows, name = [], ""
    for line in text.splitlines():
        thread, calls = _THREAD.match(line), _CALLS.match(line)
        if thread:
            name = thread[1]
        elif calls and name != "perf":
            rows.append((name, Waits(int(calls[1]), float(calls[3]), float(calls[4]))))
    rows.sort(key=lambda row: -row[1].total)
    everything = Waits(
        sum(w.count for _, w in rows), sum(w.total for _, w in rows), max((w.longest for _, w in rows), default=0)
    )
    lines = [(name, *waits.cells()) for name, waits in (("all threads", everything), *rows[:_MOST_THREADS])]
    return _table("Calls of futex, waits and wakes", ("thread", "calls", "total ms", "mean ms", "longest ms"), lines)


_SWITCH = re.compile(
    r"^\s*(.+?)\s+(\d+)\s+(?:\[\S+\]\s+)?([\d.]+): PERF_RECORD_SWITCH\w* (IN|OUT)( preempt)?", re.MULTILINE
)


def _switches(file: Path) -> str:
    command = ["perf", "script", "-i", str(file), "--show-switch-events", "-F", "comm,tid,time"]
    return subprocess.run(command, capture_output=True, text=True, errors="replace").stdout


def off_cpu_summary(text: str) -> str:
    """From `perf script`: a line for each time when a thread leaves a CPU or gets one."""
    names: dict[str, str] = {}
    left: dict[str, tuple[float, bool]] = {}
    waited: dict[tuple[str, bool], Waits] = {}
    for name, thread, seconds, way, preempted in _SWITCH.findall(text):
        names[thread] = name  # its last one: a program starts under another's name
        if way == "OUT":
            left[thread] = float(seconds), bool(preempted)
        elif thread in left:
            since, by_force = left.pop(thread)
            waited.setdefault((thread, by_force), Waits()).add(1e3 * (float(seconds) - since))
    rows = [
        (names[thread], waited.get((thread, False), Waits()), waited.get((thread, True), Waits())) for thread in names
    ]
    rows.sort(key=lambda row: -row[1].total)
    lines = [(name, *asleep.cells(), f"{robbed.count}", f"{robbed.total:.1f}") for name, asleep, robbed in rows]
    head = ("thread", "waits", "total ms", "mean ms", "longest ms", "preempted", "for ms")
    return _table("Off the CPU: waits of its own accord, and preempted by others", head, lines[:_MOST_THREADS])


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = [
        "  ".join(
            f"{cell:<{width}}" if i == 0 else f"{cell:>{width}}"
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in (head, *rows)
    ]
    return "\n".join([title, "", *lines]) + "\n"
