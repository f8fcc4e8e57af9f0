"""When threads waited for a lock: slots of each process, on one axis for all of them."""

from dataclasses import dataclass
from math import ceil

from lockswap.profile.summary import Lock, Profile

LOCKS = 10  # the hottest ones
_MOST_COLUMNS = 120


@dataclass(frozen=True)
class Axis:
    begin_ns: int
    column_ns: float
    columns: int


def axis(profile: Profile) -> Axis | None:
    """From the beginning of the first process to the end of the last one; no finer than what was recorded."""
    if not profile.processes:
        return None
    begin = min(one.get("begin_ns", one["started_ns"]) for one in profile.processes)
    end = max(one.get("end_ns", one["last_ns"]) for one in profile.processes)
    parts = [part for lock in profile.locks[:LOCKS] for part in lock.timeline]
    if end <= begin or not parts:
        return None
    columns = max(1, min(_MOST_COLUMNS, ceil((end - begin) / max(part.slot_ns for part in parts))))
    return Axis(begin, (end - begin) / columns, columns)


def columns(lock: Lock, on: Axis) -> list[float]:
    """ns that threads waited in each column. A slot that reaches over several is shared out by its width."""
    found = [0.0] * on.columns
    for part in lock.timeline:
        for number, ns in enumerate(part.waited_ns):
            if not ns:
                continue
            begin = part.begin_ns + number * part.slot_ns - on.begin_ns
            first, last = begin / on.column_ns, (begin + part.slot_ns) / on.column_ns
            for column in range(int(first), ceil(last)):
                share = (min(last, column + 1) - max(first, column)) / (last - first)
                # The last slot may reach beyond the end, and a window begins within one.
                found[min(max(column, 0), on.columns - 1)] += ns * share
    return found
