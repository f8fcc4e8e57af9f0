"""Names of the addresses in some stacks of a process, and of the variables in which its locks lie."""

from collections.abc import Iterable
from pathlib import Path

from lockswap.outside.target import is_libc
from lockswap.outside.unwind import Frame, Stack
from lockswap.profile.attach import Attached
from lockswap.profile.names import Names, frame_at, without_starts
from lockswap.profile.symbolizer import Function


class Places:
    """Looks them all up at once."""

    def __init__(self, attached: Attached, stacks: Iterable[Stack], variables: Iterable[int]) -> None:
        modules = attached.modules()
        self._frames = {one: frame_at(modules, one.returns) for stack in stacks for one in stack.frames}
        found = {address: frame_at(modules, address) for address in variables}
        self._variables = {address: place for address, place in found.items() if place[0] >= 0}
        self._known = {
            "pid": attached.pid,
            "made_code": attached.made_code(),
            "modules": modules,
            "locks": [{"object": place} for place in self._variables.values()],
            "stacks": [{"frames": [place]} for one, place in self._frames.items() if self._has_names(one)],
        }
        self._names = Names([self._known])

    def stack(self, frames: Iterable[Frame]) -> list[Function]:
        """Without what all threads begin with."""
        found: list[Function] = []
        for n, one in enumerate(frames):
            if one.symbol.startswith("__libc_start"):
                break  # behind it comes _start, which has no name in a stripped program
            place = self._frames[one]
            if self._has_names(one):
                found += self._names.frame(self._known, place, innermost=n == 0 and not one.is_innermost)
            elif one.file:
                found.append(Function(one.symbol or f"{Path(one.file).name}+{place[1] - 1:#x}", file=one.file))
            else:
                found += self._names.frame(self._known, [-1, one.returns])
        return without_starts(found)

    def variable(self, address: int) -> str:
        """Empty if it lies in no file's data."""
        place = self._variables.get(address)
        return self._names.variable(self._known, place) if place else ""

    def _has_names(self, frame: Frame) -> bool:
        """Whether they are worth looking up: the C library's own functions have them already."""
        return self._frames[frame][0] >= 0 and not is_libc(frame.file)
