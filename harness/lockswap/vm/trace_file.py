"""The text form of a trace; structures/apps/address_space/trace.h describes it."""

import gzip
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from lockswap.vm.regions import EXECUTE, READ, WRITE
from lockswap.vm.steps import Step, Trace

FORMAT = "lockswap-vm-trace 1"


def lines(trace: Trace, command: Sequence[str]) -> Iterator[str]:
    yield FORMAT
    yield f"# {' '.join(command)}".encode("unicode_escape").decode()
    for note in trace.notes:
        yield f"# {note}"
    yield f"faults {'synthesised' if trace.synthesised else 'recorded'}"
    yield f"threads {trace.threads}"
    yield f"heap {trace.heap:x}"
    for start, end in trace.there:
        yield f"there {start:x} {end - start:x}"
    for step in trace.steps:
        yield _line(step)


def _line(s: Step) -> str:
    words = [s.kind, str(s.thread)]
    if s.kind == "begin":
        words.append(str(s.start))
    elif s.kind == "brk":
        words.append(f"{s.end:x}")
    elif s.kind not in ("end", "fork"):
        words += [f"{s.start:x}", f"{s.end - s.start:x}"]
    if s.kind in ("map", "protect"):
        bits = ((READ, "r"), (WRITE, "w"), (EXECUTE, "x"))
        words.append("".join(letter if s.protection & bit else "-" for bit, letter in bits))
    if s.kind == "map" and s.file is not None:
        words += ["shared" if s.shared else "private", str(s.file), f"{s.offset:x}"]
    return " ".join(words)


def write(file: Path, trace: Trace, command: Sequence[str]) -> None:
    write_lines(file, lines(trace, command))


def write_lines(file: Path, all_lines: Iterable[str]) -> None:
    text = "".join(f"{line}\n" for line in all_lines).encode("ascii")
    # Without a time and a name in it, the same trace gives the same file.
    file.write_bytes(gzip.compress(text, mtime=0) if file.suffix == ".gz" else text)
