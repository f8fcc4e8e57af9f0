"""Which pages are mapped, and how: as much as the order and the kind of a trace's steps hang on."""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field, replace

PAGE = 4096
READ, WRITE, EXECUTE = 1, 2, 4


@dataclass(frozen=True)
class Region:
    start: int
    end: int
    protection: int
    file: int | None = None
    shared: bool = False
    base: int = 0  # page p shows page p - base of the file
    stack: bool = False
    seen: set[int] = field(default_factory=set, compare=False)  # pages of a file that were touched


class Regions:
    def __init__(self) -> None:
        self._starts: list[int] = []
        self._regions: list[Region] = []

    def at(self, page: int) -> Region | None:
        i = bisect_right(self._starts, page) - 1
        return self._regions[i] if i >= 0 and page < self._regions[i].end else None

    def within(self, start: int, end: int) -> list[Region]:
        """The parts of regions in [start, end), in order."""
        i = max(bisect_right(self._starts, start) - 1, 0)
        found = []
        while i < len(self._regions) and self._regions[i].start < end:
            r = self._regions[i]
            if r.end > start:
                found.append(replace(r, start=max(r.start, start), end=min(r.end, end)))
            i += 1
        return found

    def holes(self, start: int, end: int) -> list[tuple[int, int]]:
        found = []
        for r in self.within(start, end):
            if r.start > start:
                found.append((start, r.start))
            start = r.end
        if start < end:
            found.append((start, end))
        return found

    def remove(self, start: int, end: int) -> None:
        self._cut(start)
        self._cut(end)
        first, last = bisect_left(self._starts, start), bisect_left(self._starts, end)
        del self._starts[first:last], self._regions[first:last]

    def put(self, region: Region) -> None:
        self.remove(region.start, region.end)
        i = bisect_left(self._starts, region.start)
        self._starts.insert(i, region.start)
        self._regions.insert(i, region)

    def protect(self, start: int, end: int, protection: int) -> None:
        for part in self.within(start, end):
            self.put(replace(part, protection=protection))

    def _cut(self, at: int) -> None:
        i = bisect_right(self._starts, at) - 1
        if i < 0 or self._starts[i] == at or self._regions[i].end <= at:
            return
        r = self._regions[i]
        self._regions[i] = replace(r, end=at)
        self._starts.insert(i + 1, at)
        self._regions.insert(i + 1, replace(r, start=at))
