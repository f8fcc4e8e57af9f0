"""What the threads of programs that hang are waiting for."""

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from lockswap.run.processes import Process


def describe(processes: Iterable[Process]) -> str:
    """Each thread with its state and system call; with stacks, where gdb is installed."""
    lines = []
    for process in processes:
        lines.append(f"{process.name} (pid {process.pid})")
        for thread in sorted(Path(f"/proc/{process.pid}/task").glob("*"), key=lambda path: int(path.name)):
            lines.append(f"  thread {thread.name} {' '.join(_about(thread))}")
        if (gdb := shutil.which("gdb")) is not None:
            lines.append(_stacks(gdb, process.pid))
    return "\n".join(lines) + "\n"


def _about(thread: Path) -> list[str]:
    """Name, state, kernel function, system call with its arguments: 202 is futex on x86-64, 98 on aarch64."""
    found = []
    for name in ("comm", "stat", "wchan", "syscall"):
        try:
            text = (thread / name).read_text(errors="replace").strip()
        except OSError:
            text = f"({name} cannot be read)"
        found.append(text[text.rindex(")") + 2 :][:1] if name == "stat" and ")" in text else text)
    return found


def _stacks(gdb: str, pid: int) -> str:
    try:
        return subprocess.run(
            [gdb, "--batch", "-p", str(pid), "-ex", "thread apply all backtrace"],
            capture_output=True, text=True, errors="replace", timeout=60, check=False,
        ).stdout  # fmt: skip
    except subprocess.TimeoutExpired:
        return "(gdb did not come to an end)"
