"""A profile as `go tool pprof` and its relatives read it: profile.proto of github.com/google/pprof, compressed."""

import gzip
from collections.abc import Iterable

from lockswap.profile.names import Function

# Field numbers of Profile:
_SAMPLE_TYPE, _SAMPLE, _LOCATION, _FUNCTION, _STRINGS, _DURATION = 1, 2, 4, 5, 6, 10


def encoded(stacks: Iterable[tuple[list[Function], int, int]], seconds: float | None) -> bytes:
    """From (stack, outermost first; waits; nanoseconds)."""
    strings = _Numbered([""])
    functions: _Numbered = _Numbered()
    samples = []
    for stack, waits, ns in stacks:
        ids = [functions.number(one) + 1 for one in reversed(stack)]
        samples.append(_message(_SAMPLE, _packed(1, ids) + _packed(2, (waits, ns))))
    body = b"".join(
        _message(_SAMPLE_TYPE, _integer(1, strings.number(kind)) + _integer(2, strings.number(unit)))
        for kind, unit in (("waits", "count"), ("delay", "nanoseconds"))
    )
    body += b"".join(samples)
    # Each function with its line is a location and a function of its own.
    for number, one in enumerate(functions.items, 1):
        file, _, line = one.line.rpartition(":")
        where = _integer(1, number) + _integer(2, int(line) if line.isdigit() else 0)
        name = strings.number(one.name)
        body += _message(_LOCATION, _integer(1, number) + _message(4, where))
        body += _message(
            _FUNCTION, _integer(1, number) + _integer(2, name) + _integer(3, name) + _integer(4, strings.number(file))
        )
    body += b"".join(_bytes(_STRINGS, text.encode()) for text in strings.items)
    if seconds is not None:
        body += _integer(_DURATION, round(seconds * 1e9))
    return gzip.compress(body, mtime=0)


class _Numbered:
    """Things in the order in which they first came."""

    def __init__(self, items: Iterable = ()) -> None:
        self.items = list(items)
        self._number = {item: number for number, item in enumerate(self.items)}

    def number(self, item: object) -> int:
        if item not in self._number:
            self._number[item] = len(self.items)
            self.items.append(item)
        return self._number[item]


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _integer(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


_message = _bytes


def _packed(field: int, values: Iterable[int]) -> bytes:
    return _bytes(field, b"".join(_varint(value) for value in values))
