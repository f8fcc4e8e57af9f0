"""Where threads are at this moment, as gdb sees it. It stops the program for as long as that takes."""

import re
import shutil
import subprocess

from lockswap.base.errors import UserError

_PATIENCE_S = 120
_THREAD = re.compile(r"^Thread \d+ \(.*?LWP (\d+)\)?")
_FRAME = re.compile(r"^#\d+\s+(?:0x[0-9a-f]+ in )?(.*)$")


def stacks(pid: int) -> dict[int, list[str]]:
    """By the thread's number, the innermost frame first."""
    gdb = shutil.which("gdb")
    if gdb is None:
        raise UserError("--current needs gdb, which is not installed: install it, or omit --current")
    command = [gdb, "-nx", "-batch", "-p", str(pid), "-ex", "set width 0", "-ex", "thread apply all backtrace 24"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired as error:
        raise UserError(f"--current: gdb took more than {_PATIENCE_S} s; try again, or omit --current") from error
    found: dict[int, list[str]] = {}
    now: list[str] = []
    for line in done.stdout.splitlines():
        if match := _THREAD.match(line):
            now = found.setdefault(int(match[1]), [])
        elif match := _FRAME.match(line):
            now.append(match[1])
    if not found:
        reason = next((line for line in done.stderr.splitlines() if "ptrace" in line), "it found no thread")
        raise UserError(f"--current: gdb cannot inspect process {pid}: {reason}; omit --current")
    return found
