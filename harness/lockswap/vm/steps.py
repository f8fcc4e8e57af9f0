"""From calls and faults to the steps of a trace: one address space, in an order that its calls may have had.

Calls that overlapped did what they did in an order that no clock shows. They stand by when they ended, with one
exception: a mapping where pages still are comes behind the call, begun before, that takes them away.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from lockswap.vm.faults import Fault
from lockswap.vm.regions import EXECUTE, PAGE, READ, WRITE, Region, Regions
from lockswap.vm.strace_log import STARTING, Call, End, arguments

TOUCHED = 16  # pages at the begin of what a synthesised trace makes accessible
_STACK_TOUCHED = 4  # at the end of a stack
_JOINED = 64  # pages between two that execve mapped: they are one region's
_BITS = {"PROT_READ": READ, "PROT_WRITE": WRITE, "PROT_EXEC": EXECUTE}


@dataclass
class Step:
    """`begin`: a thread's first step comes after it; `end`: the thread's last. Pages are [start, end)."""

    kind: str
    thread: int
    start: int = 0
    end: int = 0
    protection: int = 0
    file: int | None = None
    offset: int = 0
    shared: bool = False


@dataclass
class Trace:
    heap: int
    there: list[tuple[int, int]]  # what execve mapped
    steps: list[Step]
    threads: int
    synthesised: bool
    notes: list[str] = field(default_factory=list)


def convert(events: Iterable[Call | End], faults: list[Fault] | None) -> Trace:
    """The trace of the started process after its last execve. Without `faults`, first touches are synthesised."""
    converter = _Converter(faults is None)
    ordered = sorted([*events, *(faults or [])], key=_time)
    for i, event in enumerate(ordered):
        converter.take(event, ordered, i)
    return converter.trace()


def _time(event: Call | End | Fault) -> int:
    if isinstance(event, Call):
        return event.entered if event.name in STARTING else event.left
    return event.at


def _pages(start: int, length: int) -> tuple[int, int]:
    return start // PAGE, -(-(start + length) // PAGE)


def _protection(text: str) -> int:
    return sum(_BITS.get(word, 0) for word in text.split("|"))


class _Converter:
    def __init__(self, synthesises: bool) -> None:
        self._synthesises = synthesises
        self._main: int | None = None
        self._others = 0
        self._begin()

    def _begin(self) -> None:
        """What an execve leaves: nothing."""
        self._steps: list[Step] = []
        self._threads: dict[int, int] = {}  # of this address space, by the system's number
        self._count = 0
        self._regions = Regions()
        self._ever = Regions()  # pages that a call has named, or that were there
        self._there = Regions()
        self._heap: int | None = None
        self._brk = 0
        self._files: dict[str, int] = {}
        self._anonymous = 0  # shared, without a file
        self._unplaced = 0
        self._moved = 0
        self._done: set[int] = set()  # events that came before their time

    def take(self, event: Call | End | Fault, ordered: list, i: int) -> None:
        if self._main is None and isinstance(event, Call):
            self._main = event.thread
        if isinstance(event, Call) and event.name == "execve":
            if event.thread == self._main:
                self._begin()
                self._thread(event.thread)
            else:
                self._end(event.thread)  # it was a child that had its parent's memory until now
            return
        thread = self._threads.get(event.thread)
        if thread is None or id(event) in self._done:
            return
        if isinstance(event, End):
            self._end(event.thread)
        elif isinstance(event, Fault):
            self._fault(thread, event.address // PAGE)
        elif event.name in STARTING:
            self._start(thread, event)
        else:
            if event.name == "mmap":
                self._bring_forward(event, ordered, i)
            self._call(thread, event)

    def trace(self) -> Trace:
        self._join_there()
        used = {s.thread for s in self._steps if s.kind not in ("begin", "end")} | {0}
        number = {thread: i for i, thread in enumerate(sorted(used))}
        steps = []
        for s in self._steps:
            # A thread that did nothing is left out.
            if s.thread in number and (s.kind != "begin" or s.start in number):
                s.thread = number[s.thread]
                s.start = number[s.start] if s.kind == "begin" else s.start
                steps.append(s)
        notes = []
        if self._others:
            notes.append(f"{self._others} other processes are left out: a trace is of one address space")
        if self._unplaced:
            notes.append(f"{self._unplaced} faults are left out: where they were nothing was mapped, or not so")
        if self._moved:
            notes.append(f"{self._moved} pages were moved by mremap: they are mapped again, and empty")
        there = [(r.start, r.end) for r in self._there.within(0, 1 << 52)]
        return Trace(self._heap or 1, there, steps, len(number), self._synthesises, notes)

    # --- threads
    def _thread(self, system: int) -> int:
        self._threads[system] = self._count
        self._count += 1
        return self._count - 1

    def _start(self, thread: int, call: Call) -> None:
        if call.name == "vfork" or "CLONE_VM" in call.arguments:
            self._steps.append(Step("begin", thread, self._thread(call.result)))
            self._others += "CLONE_THREAD" not in call.arguments
        else:
            self._others += 1
            self._steps.append(Step("fork", thread))

    def _end(self, system: int) -> None:
        thread = self._threads.pop(system, None)
        if thread is not None:
            self._steps.append(Step("end", thread))

    # --- calls
    def _bring_forward(self, mapping: Call, ordered: list, i: int) -> None:
        start, end = _pages(mapping.result, int(arguments(mapping.arguments)[1], 0))
        if re.search(r"MAP_FIXED\b", mapping.arguments) or not self._regions.within(start, end):
            return
        for later in ordered[i + 1 :]:
            if _time(later) > mapping.left + 10**9:
                return
            if not isinstance(later, Call) or later.entered > mapping.left or id(later) in self._done:
                continue
            if later.name in ("munmap", "mremap") and later.thread in self._threads:
                given = arguments(later.arguments)
                first, last = _pages(int(given[0], 0), int(given[1], 0))
                if first < end and last > start:
                    self._call(self._threads[later.thread], later)
                    self._done.add(id(later))

    def _call(self, thread: int, call: Call) -> None:
        given = arguments(call.arguments)
        if call.name == "brk":
            self._move_brk(thread, call.result)
        elif call.name == "mmap":
            start, end = _pages(call.result, int(given[1], 0))
            self._map(thread, self._mapped(start, end, given))
        else:
            start, end = _pages(int(given[0], 0), int(given[1], 0))
            if start == end and call.name != "mremap":
                return
            if call.name == "munmap":
                self._unmap(thread, start, end)
            elif call.name == "mremap":
                self._move(thread, start, end, int(given[2], 0), call.result)
            elif call.name == "madvise":
                if given[2].startswith("MADV_DONTNEED"):
                    self._discard(thread, start, end)
            else:
                self._protect(thread, start, end, _protection(given[2]))

    def _mapped(self, start: int, end: int, given: list[str]) -> Region:
        protection, flags = _protection(given[2]), given[3].split("|")
        shared = bool({"MAP_SHARED", "MAP_SHARED_VALIDATE"} & set(flags))
        if "MAP_ANONYMOUS" not in flags:
            name = given[4].partition("<")[2] or given[4]
        elif shared:
            self._anonymous += 1
            name = f"anonymous {self._anonymous}"
        else:
            return Region(start, end, protection, stack="MAP_STACK" in flags)
        file = self._files.setdefault(name, len(self._files))
        return Region(start, end, protection, file, shared, start - int(given[5], 0) // PAGE)

    def _map(self, thread: int, region: Region) -> None:
        self._regions.put(region)
        self._ever.put(Region(region.start, region.end, 0))
        offset = 0 if region.file is None else region.start - region.base
        self._steps.append(
            Step("map", thread, region.start, region.end, region.protection, region.file, offset, region.shared)
        )
        self._touch(thread, [region])

    def _unmap(self, thread: int, start: int, end: int) -> None:
        self._regions.remove(start, end)
        self._ever.put(Region(start, end, 0))
        self._steps.append(Step("unmap", thread, start, end))

    def _protect(self, thread: int, start: int, end: int, protection: int) -> None:
        self._find_there(start, end)
        fresh = [r for r in self._regions.within(start, end) if r.protection & (READ | WRITE) == 0]
        self._regions.protect(start, end, protection)
        self._ever.put(Region(start, end, 0))
        if self._regions.holes(start, end):  # it would have failed: something is not known
            self._unplaced += 1
            return
        self._steps.append(Step("protect", thread, start, end, protection))
        for r in fresh:
            self._touch(thread, self._regions.within(r.start, r.end))

    def _discard(self, thread: int, start: int, end: int) -> None:
        for r in self._regions.within(start, end):
            r.seen.difference_update(range(r.start, r.end))
        self._steps.append(Step("discard", thread, start, end))

    def _move(self, thread: int, start: int, end: int, length: int, result: int) -> None:
        old = self._regions.at(start)
        first, last = _pages(result, length)
        if old is None:
            self._unplaced += 1
            return
        if first == start:
            if last < end:
                self._unmap(thread, last, end)
            if last > end:
                self._map(thread, Region(end, last, old.protection, old.file, old.shared, old.base))
            return
        self._moved += min(end - start, last - first)
        base = old.base + first - start if old.file is not None else 0
        if end > start:
            self._unmap(thread, start, end)
        self._map(thread, Region(first, last, old.protection, old.file, old.shared, base))

    def _move_brk(self, thread: int, result: int) -> None:
        end = -(-result // PAGE)
        if self._heap is None:
            self._heap = self._brk = end
        if end == self._brk or end < self._heap:
            return
        old, self._brk = self._brk, end
        if end < old:
            self._regions.remove(end, old)
        else:
            self._regions.put(Region(old, end, READ | WRITE))
        self._ever.put(Region(min(old, end), max(old, end), 0))
        self._steps.append(Step("brk", thread, end=end))
        if end > old:
            self._touch(thread, self._regions.within(old, end))

    # --- pages
    def _find_there(self, start: int, end: int) -> None:
        """Pages that no call has named were mapped by execve."""
        for first, last in self._ever.holes(start, end):
            for regions in (self._regions, self._there, self._ever):
                regions.put(Region(first, last, READ | WRITE | EXECUTE))

    def _join_there(self) -> None:
        """Pages between two of these are there, too, unless a call has named them."""
        parts = self._there.within(0, 1 << 52)
        for before, after in pairwise(parts):
            gap = before.end, after.start
            if 0 < gap[1] - gap[0] <= _JOINED and not self._ever.within(*gap):
                self._there.put(Region(*gap, READ | WRITE | EXECUTE))
        joined: list[Region] = []
        for r in self._there.within(0, 1 << 52):
            if joined and joined[-1].end == r.start:
                r = Region(joined.pop().start, r.end, r.protection)
            joined.append(r)
        self._there = Regions()
        for r in joined:
            self._there.put(r)

    def _touch(self, thread: int, made: list[Region]) -> None:
        """Where faults are not recorded: those that what was made accessible has at its begin, a stack at its end."""
        if not self._synthesises:
            return
        left = TOUCHED
        for r in made:
            if r.protection & (READ | WRITE) == 0:
                continue
            first = max(r.start, r.end - _STACK_TOUCHED) if r.stack else r.start
            for page in range(first, min(r.end, first + left)):
                self._fault(thread, page)
            left -= min(left, r.end - first)

    def _fault(self, thread: int, page: int) -> None:
        self._find_there(page, page + 1)
        r = self._regions.at(page)
        if r is None or r.protection & (READ | WRITE) == 0:
            self._unplaced += 1
            return
        # What a fault wanted is not recorded. Memory is written; a page of a file is read first.
        writes = bool(r.protection & WRITE) and (r.file is None or page in r.seen or not r.protection & READ)
        if r.file is not None:
            r.seen.add(page)
        kind = "write" if writes else "read"
        last = self._steps[-1] if self._steps else None
        if last is not None and (last.kind, last.thread, last.end) == (kind, thread, page):
            last.end += 1
        else:
            self._steps.append(Step(kind, thread, page, page + 1))
