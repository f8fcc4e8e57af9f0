"""What strace wrote of a program's mapping calls: calls with their times, and when threads ended."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

MAPPING = ("mmap", "munmap", "mprotect", "pkey_mprotect", "mremap", "brk", "madvise")
STARTING = ("clone", "clone3", "fork", "vfork")
WATCHED = (*MAPPING, *STARTING, "execve")

_LINE = re.compile(r"^(\d+) +(\d+)\.(\d{9}) (.*)$")
_CALL = re.compile(r"^(\w+)\((.*)\) += (\S+)(?:.*?<(\d+)\.(\d{9})>)?$", re.DOTALL)
_RESUMED = re.compile(r"^<\.\.\. \w+ resumed>,? ?")
_UNFINISHED = " <unfinished ...>"


@dataclass(frozen=True)
class Call:
    """A call that succeeded. Times are nanoseconds; what it did happened in between."""

    thread: int
    name: str
    arguments: str
    result: int
    entered: int
    left: int


@dataclass(frozen=True)
class End:
    thread: int
    at: int


def read(lines: Iterable[str]) -> list[Call | End]:
    """In the order of the lines, so that of each thread in order. Raises ValueError with the line's number."""
    found: list[Call | End] = []
    begun: dict[int, tuple[int, str]] = {}
    for number, line in enumerate(lines, 1):
        match = _LINE.match(line.rstrip("\n"))
        if match is None:
            raise ValueError(f"line {number} is not a line of strace's output: {line[:60]!r}")
        thread, at, text = int(match[1]), int(match[2]) * 10**9 + int(match[3]), match[4]
        if text.startswith(("+++ exited", "+++ killed")):
            begun.pop(thread, None)
            found.append(End(thread, at))
        elif text.startswith(("+++", "---")):
            continue
        elif text.endswith(_UNFINISHED):
            begun[thread] = (at, text.removesuffix(_UNFINISHED))
        elif resumed := _RESUMED.match(text):
            if thread not in begun:
                raise ValueError(f"line {number} ends a call that never began")
            entered, first = begun.pop(thread)
            if call := _call(thread, first.rstrip() + " " + text[resumed.end() :], entered, at):
                found.append(call)
        elif call := _call(thread, text, at, None):
            found.append(call)
    return found


def _call(thread: int, text: str, entered: int, left: int | None) -> Call | None:
    match = _CALL.match(text)
    if match is None or match[3] in ("?", "-1"):
        return None  # it did not return, or failed
    took = int(match[4]) * 10**9 + int(match[5]) if match[4] else 0
    arguments = match[2].replace(" )", ")").strip()
    return Call(thread, match[1], arguments, int(match[3], 0), entered, entered + took if left is None else left)


def arguments(text: str) -> list[str]:
    """Split at the commas that separate them: not those in <>, [], {} or quotes."""
    parts, depth, quoted, last = [""], 0, False, ""
    for c in text:
        if c == '"' and last != "\\":
            quoted = not quoted
        if not quoted:
            depth += (c in "<[{") - (c in ">]}" and not (c == ">" and last == "="))
        if c == "," and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += c
        last = c
    return [part.strip() for part in parts]
