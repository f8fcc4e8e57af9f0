"""The steps of a run of one thread at a time (fuzz/serial.h), and the few turns that make it fail."""

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from lockswap.profile.names import Names, site

_HEAD = struct.Struct("<8Q")
_MODULE, _MODULES, _STEPS = 512, 64, 100_000
_STEP = struct.Struct("<6I2Q")
_FIRST = _HEAD.size + _MODULE * _MODULES
LOG_BYTES = _FIRST + _STEP.size * _STEPS
_TURN, _ATTEMPT = 10, 8
_WORDS = {
    0: "locks {}",
    1: "unlocks {}",
    2: "waits for {}",
    3: "signals {}",
    4: "broadcasts {}",
    5: "creates a thread",
    6: "joins a thread",
    7: "ends",
    8: "could not lock {}",
    9: "locks {} for reading",
}
_OF_A_SEGMENT = 6  # steps that are shown of what a thread does in one go
_SEGMENTS = 40

Turn = tuple[int, int, int]  # a thread, the points that it has passed, and the thread that is next


@dataclass(frozen=True)
class Step:
    thread: int
    count: int
    kind: int
    object: int
    module: int
    variable: int
    at: tuple[int, int]


@dataclass(frozen=True)
class Log:
    steps: list[Step]  # without turns
    turns: list[Turn]
    modules: list[str]
    is_whole: bool
    by_time: int  # turns that were taken from threads because of the time
    is_deadlock: bool

    @property
    def order(self) -> list[tuple[int, ...]]:
        """What is the same in each run of the same order."""
        return [(one.thread, one.kind, one.object, one.at[0]) for one in self.steps]


def read(file: Path) -> Log:
    data = file.read_bytes()
    _, count, by_time, dead, modules, *_ = _HEAD.unpack_from(data)
    paths = [data[at : at + _MODULE].split(b"\0")[0].decode(errors="replace")
             for at in range(_HEAD.size, _HEAD.size + _MODULE * modules, _MODULE)]  # fmt: skip
    words = [_STEP.unpack_from(data, _FIRST + i * _STEP.size) for i in range(min(count, _STEPS))]
    all_ = [Step(*one[:6], at=one[6:]) for one in words]
    turns = [(one.thread, one.count, one.object) for one in all_ if one.kind == _TURN]
    steps = [one for one in all_ if one.kind != _TURN]
    return Log(steps, turns, paths, count <= _STEPS, by_time, bool(dead))


def is_deadlock(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            return bool(_HEAD.unpack(opened.read(_HEAD.size))[3])
    except (OSError, struct.error):
        return False


def as_schedule(turns: Iterable[Turn]) -> str:
    return "".join(f"{thread} {count} {next_}\n" for thread, count, next_ in turns)


def shortened(turns: list[Turn], fails: Callable[[list[Turn]], bool], most: int) -> list[Turn]:
    """Fewer turns with which it still fails, by leaving parts away: delta debugging, in at most so many runs."""
    size = max(1, len(turns) // 2)
    while turns and most > 0:
        begin, left_away = 0, False
        while begin < len(turns) and most > 0:
            fewer = turns[:begin] + turns[begin + size :]
            most -= 1
            if fails(fewer):
                turns, left_away = fewer, True
            else:
                begin += size
        if size == 1 and not left_away:
            break
        size = max(1, size // 2)
    return turns


def as_text(log: Log) -> list[str]:
    """The steps in their order, a paragraph for what a thread does in one go."""
    modules = [{"path": path, "build_id": ""} for path in log.modules]
    known = {
        "modules": modules,
        "locks": [{"object": [one.variable - 1, one.at[1]]} for one in log.steps if one.variable],
        "stacks": [{"frames": [[one.module, one.at[0]]]} for one in log.steps if one.module < len(modules)],
    }
    names = Names([known])

    def words(one: Step) -> str:
        place = None
        if one.module < len(modules):
            place = site(names.frame(known, [one.module, one.at[0]]))
        name = f"object {one.object}"
        if one.variable:
            name = names.variable(known, [one.variable - 1, one.at[1]])
        return _WORDS.get(one.kind, "?").format(name) + (f"  at {place}" if place else "")

    groups = [(thread, list(steps)) for thread, steps in groupby(log.steps, lambda one: one.thread)]
    lines = [f"... {len(groups) - _SEGMENTS} turns before"] if len(groups) > _SEGMENTS else []
    for thread, steps in groups[-_SEGMENTS:]:
        lines.append(f"thread {thread}:")
        shown = steps if len(steps) <= _OF_A_SEGMENT else [*steps[:2], None, *steps[-_OF_A_SEGMENT + 3 :]]
        left_out = len(steps) - _OF_A_SEGMENT + 1
        lines += [f"    {words(one)}" if one else f"    ... {left_out} steps more" for one in shown]
    return lines
