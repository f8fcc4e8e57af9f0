"""What all processes of a program map of files, when they fork, execute programs and end: steps for reverse maps."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from lockswap.vm.regions import PAGE
from lockswap.vm.strace_log import STARTING, Call, End, arguments

FORMAT = "lockswap-process-trace 1"
# What execve maps is in no call. These stand for it: text, constants, data that is made read-only, data.
_EXECUTED = 4
_EXECUTED_PAGES = 16

_FILE = re.compile(r"^\d+<(.+)>$")


@dataclass
class _Mapping:
    number: int
    start: int  # a page of the process
    end: int
    file: int
    first: int  # the page of the file


@dataclass
class _Process:
    number: int
    threads: int = 1
    mappings: list[_Mapping] = field(default_factory=list)


@dataclass
class ProcessTrace:
    steps: list[str] = field(default_factory=list)
    files: int = 0
    processes: int = 0

    def lines(self, command: list[str]) -> Iterator[str]:
        yield FORMAT
        yield f"# {' '.join(command)}".encode("unicode_escape").decode()
        yield f"files {self.files}"
        yield f"processes {self.processes}"
        yield from self.steps


class _Converter:
    def __init__(self) -> None:
        self.trace = ProcessTrace()
        self.of_thread: dict[int, _Process] = {}
        self.files: dict[str, int] = {}
        self.mappings = 0

    def say(self, *words: object) -> None:
        self.trace.steps.append(" ".join(str(word) for word in words))

    def process(self, thread: int) -> _Process:
        if thread not in self.of_thread:
            self.of_thread[thread] = self.new_process()
            self.say("start", self.of_thread[thread].number)
        return self.of_thread[thread]

    def new_process(self) -> _Process:
        self.trace.processes += 1
        return _Process(self.trace.processes - 1)

    def file(self, name: str) -> int:
        return self.files.setdefault(name, len(self.files))

    def map(self, p: _Process, start: int, end: int, file: int, first: int) -> None:
        p.mappings.append(_Mapping(self.mappings, start, end, file, first))
        self.say("map", p.number, self.mappings, file, first, end - start)
        self.mappings += 1

    def unmap(self, p: _Process, start: int, end: int) -> None:
        """The parts of mappings within these pages; what is left of one is a new mapping."""
        for m in [m for m in p.mappings if m.start < end and start < m.end]:
            p.mappings.remove(m)
            self.say("unmap", p.number, m.number)
            if m.start < start:
                self.map(p, m.start, start, m.file, m.first)
            if end < m.end:
                self.map(p, end, m.end, m.file, m.first + end - m.start)

    def call(self, call: Call) -> None:
        p = self.process(call.thread)
        words = arguments(call.arguments)
        if call.name == "mmap":
            start, pages = call.result // PAGE, -(-int(words[1], 0) // PAGE)
            self.unmap(p, start, start + pages)
            if (named := _FILE.match(words[4])) and "MAP_ANONYMOUS" not in words[3]:
                self.map(p, start, start + pages, self.file(named[1]), int(words[5], 0) // PAGE)
        elif call.name == "munmap":
            start = int(words[0], 0) // PAGE
            self.unmap(p, start, start - (-int(words[1], 0) // PAGE))
        elif call.name == "execve":
            self.execute(call.thread, p, words[0].strip('"'))
        elif call.name in STARTING:
            self.begin(call, p)

    def execute(self, thread: int, p: _Process, name: str) -> None:
        if p.threads > 1:  # a child that has had its parent's memory
            p.threads -= 1
            p = self.of_thread[thread] = self.new_process()
            self.say("start", p.number)
        else:
            p.mappings.clear()
            self.say("exec", p.number)
        for file in (self.file(name), self.file("ld.so")):
            for part in range(_EXECUTED):
                first = part * _EXECUTED_PAGES
                place = -1 - len(p.mappings) * _EXECUTED_PAGES  # nobody unmaps it
                self.map(p, place - _EXECUTED_PAGES, place, file, first)

    def begin(self, call: Call, parent: _Process) -> None:
        if call.name == "vfork" or "CLONE_VM" in call.arguments:
            self.of_thread[call.result] = parent
            parent.threads += 1
            return
        child = self.of_thread[call.result] = self.new_process()
        self.say("fork", parent.number, child.number)
        for m in parent.mappings:  # the reader of the trace numbers them in this order
            child.mappings.append(_Mapping(self.mappings, m.start, m.end, m.file, m.first))
            self.mappings += 1

    def end(self, thread: int) -> None:
        p = self.of_thread.pop(thread, None)
        if p is None:
            return
        p.threads -= 1
        if p.threads == 0:
            self.say("end", p.number)


def convert(events: Iterable[Call | End]) -> ProcessTrace:
    """A call counts from its entry: a child's first step comes before the parent's fork returns."""
    converter = _Converter()
    for event in sorted(events, key=lambda event: event.at if isinstance(event, End) else event.entered):
        if isinstance(event, End):
            converter.end(event.thread)
        else:
            converter.call(event)
    for thread in list(converter.of_thread):
        converter.end(thread)
    converter.trace.files = len(converter.files)
    return converter.trace
