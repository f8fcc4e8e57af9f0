"""The names of locks, as the profile has them: a static variable's, or the place where a lock was first seen."""

from dataclasses import dataclass

from lockswap.metrics.record import Counts, Record, Series
from lockswap.profile.names import Names, site

REST = "(others)"


@dataclass(frozen=True)
class Labelled:
    lock: str
    kind: str
    counts: dict[str, Counts]  # by mode


class Labels:
    """Each name is looked up once, since debug information is slow to read: a scrape afterwards is not."""

    def __init__(self) -> None:
        self._names: dict[tuple, str] = {}

    def of(self, record: Record) -> list[Labelled]:
        """Locks of one name are one: the stacks of some differ only in callers that the name leaves out."""
        unknown = [one for one in record.series if not one.is_rest and _key(record, one) not in self._names]
        if unknown:
            self._look_up(record, unknown)
        found: dict[tuple[str, str], Labelled] = {}
        for one in record.series:
            name = REST if one.is_rest else self._names[_key(record, one)]
            before = found.get((name, one.kind))
            counts = one.counts if before is None else {m: _sum(before.counts[m], c) for m, c in one.counts.items()}
            found[name, one.kind] = Labelled(name, one.kind, counts)
        return list(found.values())

    def _look_up(self, record: Record, unknown: list[Series]) -> None:
        process = {
            "pid": record.pid,
            "modules": [{"path": path, "build_id": build_id} for path, build_id in record.modules],
            "stacks": [{"frames": one.frames} for one in unknown],
            # What lies in no module that is known has no name.
            "locks": [{"object": one.object if one.object and one.object[0] >= 0 else None} for one in unknown],
        }
        names = Names([process])
        for one in unknown:
            if one.object:
                name = names.variable(process, one.object) if one.object[0] >= 0 else f"{one.object[1]:#x}"
            else:
                name = str(site(names.stack(process, one.frames)) or "(not known)")
            self._names[_key(record, one)] = name


def _key(record: Record, one: Series) -> tuple:
    places = [one.object] if one.object else one.frames
    return one.kind, tuple((record.modules[m] if m >= 0 else record.pid, address) for m, address in places)


def _sum(a: Counts, b: Counts) -> Counts:
    return Counts(
        a.acquisitions + b.acquisitions,
        a.failed_tries + b.failed_tries,
        a.timeouts + b.timeouts,
        a.wait_ns + b.wait_ns,
        tuple(map(sum, zip(a.waits, b.waits, strict=True))),
        a.hold_ns + b.hold_ns,
        tuple(map(sum, zip(a.holds, b.holds, strict=True))),
    )
