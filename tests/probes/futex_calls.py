"""Which threads slept in futex(2), on which word, for how long, and what woke them: by strace, with the stack of each.

It works where a process may be traced, also on kernels without kprobes, and knows nothing of any lock."""

import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

OPTIONS = ("-f", "-k", "-T", "-ttt", "-q", "-e", "trace=futex", "-e", "signal=none")

_LINE = re.compile(r"^(\d+) +(\d+\.\d+) (.*)$")
_CALL = re.compile(r"futex\((0x[0-9a-f]+), (FUTEX_\w+)")
_TOOK = re.compile(r"<(\d+\.\d+)>$")
_WOKE = re.compile(r"= (\d+) <")
_FRAME = re.compile(r"^ > ([^(]+)\((.*)\) \[0x([0-9a-f]+)\]$")


@cache
def why_not() -> str:
    """Empty: strace may look, and shows stacks."""
    if shutil.which("strace") is None:
        return "no strace"
    version = subprocess.run(["strace", "-V"], capture_output=True, text=True).stdout
    if "stack-trace=" not in version or "no-stack-trace" in version:
        return "this strace shows no stacks"
    done = subprocess.run(["strace", *OPTIONS, "-o", "/dev/null", "true"], capture_output=True, text=True)
    return "" if done.returncode == 0 else f"strace may not look here: {done.stderr.strip()[-200:]}"


@dataclass(frozen=True)
class Frame:
    path: str
    address: int  # what the call returns to, as the file's own tables have it
    function: str


@dataclass
class Call:
    tid: int
    word: int
    is_wait: bool
    begin: float
    seconds: float = 0
    woken: int = 0
    stack: list[Frame] = field(default_factory=list)


def read(lines: Iterable[str]) -> list[Call]:
    """In the order of their ends. A call's stack follows the line on which it ends."""
    begun: dict[int, Call] = {}
    ended: list[Call] = []
    last = None  # whose stack follows
    for line in lines:
        if last is not None and (frame := _FRAME.match(line)):
            path, function, offset = frame.groups()
            last.stack.append(Frame(path, _address(path, int(offset, 16)), function))
            continue
        last = None
        found = _LINE.match(line)
        if not found:
            continue
        tid, at, rest = int(found[1]), float(found[2]), found[3]
        if call := _CALL.match(rest):
            operation = call[2].removeprefix("FUTEX_")
            if operation.startswith(("WAIT", "WAKE")):
                begun[tid] = Call(tid, int(call[1], 16), operation.startswith("WAIT"), at)
        elif not rest.startswith("<... futex resumed>"):
            continue
        if (took := _TOOK.search(rest)) and tid in begun:
            last = begun.pop(tid)
            last.seconds = float(took[1])
            woke = _WOKE.search(rest)
            last.woken = int(woke[1]) if woke and not last.is_wait else 0
            ended.append(last)
    return ended


@cache
def _segments(path: str) -> list[tuple[int, int, int]]:
    try:
        with Path(path).open("rb") as opened:
            return [(s["p_offset"], s["p_filesz"], s["p_vaddr"]) for s in ELFFile(opened).iter_segments("PT_LOAD")]
    except (OSError, ELFError):
        return []


def _address(path: str, offset: int) -> int:
    return next((offset - begin + own for begin, size, own in _segments(path) if 0 <= offset - begin < size), offset)


def ended(calls: list[Call]) -> dict[int, list[tuple[Call, float]]]:
    """By word: for each sleep the call that ended it, and how many seconds it was: the last one that woke a thread."""
    wakes = defaultdict(list)
    for one in sorted(calls, key=lambda one: one.begin):
        if not one.is_wait and one.woken:
            wakes[one.word].append(one)
    found = defaultdict(list)
    for wait in (one for one in calls if one.is_wait):
        end = wait.begin + wait.seconds
        last = next((one for one in reversed(wakes[wait.word]) if wait.begin <= one.begin <= end), None)
        if last is not None:
            found[wait.word].append((last, wait.seconds))
    return found
