"""From the stacks in the audit's records to functions and lines, and from locks to their names."""

from collections.abc import Iterable
from itertools import count
from pathlib import Path

from lockswap.profile.names import Function, Names, is_wrapper, without_starts

_SHOWN = 10  # frames of a stack in a line of text


class Stacks:
    """The stacks of several processes. A process is a position in that list, as examples have it in "process"."""

    def __init__(self, processes: Iterable[dict]) -> None:
        self._processes = [
            process
            | {
                "locks": [lock for one in process["findings"] for lock in _locks(one)],
                "stacks": process["stacks"] + [{"cut": True, "frames": [one["place"]]} for one in process["inside"]],
            }
            for process in processes
        ]
        self._names = Names(self._processes)

    def frames(self, process: int, number: int | None) -> list[str]:
        """The innermost first; without those that all threads begin with."""
        return [str(function) for function in self._functions(process, number)]

    def line(self, process: int, number: int | None) -> str:
        """From the innermost that is no wrapper of locks on."""
        functions = self._functions(process, number)
        user = next((n for n, one in enumerate(functions) if not is_wrapper(one)), 0)
        frames = [str(function) for function in functions[user:]]
        more = len(frames) - _SHOWN
        return " < ".join(frames[:_SHOWN]) + (f" < {more} more" if more > 0 else "")

    def user(self, process: int, number: int | None) -> str:
        """The innermost function that is no wrapper of locks, as a place."""
        if number is None:
            return ""
        record = self._processes[process]
        frames = record["stacks"][number]["frames"]
        named = [(one, frame) for n, frame in enumerate(frames) for one in self._names.frame(record, frame, n == 0)]
        if not named:  # no stack could be walked, or the record is damaged
            return ""
        function, (module, address) = next((pair for pair in named if not is_wrapper(pair[0])), named[0])
        if module < 0:
            return f"{address:#x}"
        where = f"{Path(record['modules'][module]['path']).name}+{address:#x}"
        name = ", ".join(word for word in (function.name, function.line) if word)
        return f"{name} ({where})" if "+0x" not in name else where

    def call(self, process: int, number: int) -> str:
        """Where the thread at that position of "inside" makes its call."""
        record = self._processes[process]
        return self.user(process, len(record["stacks"]) - len(record["inside"]) + number)

    def lock(self, process: int, lock: dict) -> str:
        """The mutex `name`, or the address."""
        if lock["object"] is None:
            return f"a {lock['kind']} at {lock['address']}"
        return f"the {lock['kind']} `{self._names.variable(self._processes[process], lock['object'])}`"

    def _functions(self, process: int, number: int | None) -> list[Function]:
        if number is None:
            return []
        record = self._processes[process]
        return without_starts(self._names.stack(record, record["stacks"][number]["frames"]))


def letters() -> Iterable[str]:
    return (chr(ord("A") + n) for n in count())


def _locks(finding: dict) -> list[dict]:
    return [part["held"] for example in finding["examples"] for part in example.get("circle", [])]
