"""Changes lines of the locks at random, one at a time, and checks that exploration finds each change.

random_changes.py [--seed N] [--count N] BUILD-DIRECTORY

A change counts if the library's object code differs with it. What exploration misses in holds.h, of which it uses four
entries in the thread, goes to the unit test of that header, and is counted apart. Status 1 if more than a tenth of the
changes are missed, or one that tests/explore/survivors.toml does not explain."""

from __future__ import annotations

import argparse
import hashlib
import random
import re
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import survivors
from explorer import ROOT
from patched import SOURCES, Explorer, write_overlay

LINE = re.compile(r'^RW_LOCK\("([^"]+)", \w+, "([^"]+)", (.*)\)$', re.MULTILINE)


def listed() -> dict[str, str]:
    """The header of each lock in the registry's list, with the cases of the first of its locks; BRAVO's, too."""
    found: dict[str, str] = {}
    for name, header, words in LINE.findall((SOURCES / "registry/rw_list.def").read_text(encoding="utf-8")):
        if "PASSED_THROUGH" in words:
            continue
        found.setdefault(header, f"core/{name}")
        if "EXPLORES_ASYM" in words:
            found["locks/rw/bravo.h"] = f"bravo-{name}"
            found["readers/row_slots.h"] = f"bravo-asym-{name}"
    return found


def included_by(header: str) -> set[str]:
    """That and all that it includes."""
    found, left = set(), [header]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += re.findall(r'^#include "([^"]+)"', (SOURCES / name).read_text(encoding="utf-8"), re.MULTILINE)
    return found


# Where a fault in a header most likely shows: these cases go first, then all.
FIRST = listed()
# What the explorer runs.
SHARED = (
    "locks/rw/unbiased.h",
    "posix/holds.h",
    "posix/adoption.h",
    "posix/extra_holds.h",
    "posix/marked.h",
    "posix/rw_adoption.h",
    "posix/rw_contract.h",
    "posix/rw_word.h",
    "posix/rw_writer.h",
    "readers/all_readers.h",
    "readers/asymmetric.h",
    "readers/quiescence.h",
    "readers/reader_indicator.h",
    "readers/readers_table.h",
    "readers/row_slots.h",
    "readers/rows.h",
    "readers/table_slots.h",
    "wait/park.h",
    "wait/spin.h",
)
# What locks are made of.
TICKETS = "locks/common/ticket_lock.h"
PARTS = tuple(sorted({h for lock in FIRST for h in included_by(lock) if h.startswith("locks/rw/") or h == TICKETS}))
for part in (*SHARED, *PARTS):
    users = [case for lock, case in FIRST.items() if part in included_by(lock)]
    if users:
        FIRST.setdefault(part, users[0])
HEADERS = tuple(sorted({*FIRST, *SHARED}))
# Everything that makes the library's lock operations.
UNITS = "lists/registry/rw_"
# Ten times the processor time that all cases take: a program that still runs is in an endless loop.
MOST_SECONDS = 300

# Not statements, or what only counts for statistics.
SKIPPED = re.compile(r"^\s*(#|//|using |template|static_assert|public:|private:|struct |class |friend )|Count::on")
SWAPS = {
    " == ": " != ",
    " != ": " == ",
    " >= ": " < ",
    " && ": " || ",
    " || ": " && ",
    " + ": " - ",
    " - ": " + ",
    " | ": " & ",
    " & ": " | ",
    "true": "false",
    "false": "true",
    "++": "--",
    "--": "++",
}
NUMBER = re.compile(r"(?<![\w.])(\d+)(?=u?\b)(?!\w*_t)")


def changes_of(line: str) -> Iterator[tuple[str, str]]:
    """The line with one thing changed, and which, in each way that is known here."""
    code, slashes, comment = line.partition("//")
    if SKIPPED.search(line) or not code.strip(" {}"):
        return
    rest = slashes + comment
    for old, new in SWAPS.items():
        for found in re.finditer(re.escape(old), code):
            yield code[: found.start()] + new + code[found.end() :] + rest, f"{old.strip()} -> {new.strip()}"
    for found in NUMBER.finditer(code):
        more = str(int(found[1]) + 1)
        yield code[: found.start()] + more + code[found.end() :] + rest, f"{found[1]} -> {more}"
    if condition := re.match(r"(.*\b(?:if|while) )(\(.*\))( *(?:\[\[\w+\]\])?(?: \{| return.*;)?\s*)$", code):
        yield f"{condition[1]}(!{condition[2]}){condition[3]}{rest}", "opposite condition"
    if re.match(r"\s*(?!return\b|const\b|static\b|auto\b|else\b)[^()=]*(\(|=|\+\+|--).*;\s*$", code):
        yield re.sub(r"\S.*", ";", code, count=1) + rest, f"without {what_it_does(code)}"
    if jump := re.match(r"\s*(break|continue);", code):
        yield re.sub(r"\S.*", ";", code, count=1) + rest, f"without {jump[1]}"


def what_it_does(statement: str) -> str:
    """The function that it calls first, else the thing that it sets."""
    name = re.search(r"(?!(?:if|for|while)\b)\b(\w+)\(", statement) or re.search(r"(\w+)\W*(?:=|\+\+|--|;)", statement)
    return name[1] if name else statement.strip()


class Change(NamedTuple):
    """A line of a header with one thing changed."""

    file: str
    line: int  # from 0
    new: str
    function: str
    what: str
    number: int  # of those in the function that are called the same


def all_changes(file: str, lines: list[str]) -> Iterator[Change]:
    count: Counter[tuple[str, str]] = Counter()
    for i, line in enumerate(lines):
        function = survivors.function_at(lines, i)
        for new, what in changes_of(line):
            count[function, what] += 1
            yield Change(file, i, new, function, what, count[function, what])


def is_explained(c: Change, entry: dict) -> bool:
    place = entry["function"], entry["change"], entry.get("number", 1)
    return survivors.is_file(c.file, entry["file"]) and place == (c.function, c.what, c.number)


def limit_time() -> None:
    """For a child process."""
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Trial:
    """Compiles and explores changed headers in a folder of its own."""

    def __init__(self, build: Path, work: Path) -> None:
        self.explorer = Explorer(build)
        self.work = work
        self.shipped = self.object_code(work / "unchanged")

    def object_code(self, overlay: Path) -> str:
        """A digest of the library's lock operations as compiled with `overlay`."""
        units = sorted(source for source in self.explorer.commands if UNITS in str(source))
        objects = self.explorer.compile_all(units, overlay, self.work)
        return hashlib.sha256(b"".join(path.read_bytes() for path in objects)).hexdigest()

    def run(self, header: str, text: str) -> str | None:
        """None: does not count. Otherwise how it was found, or "" if it was not."""
        overlay = Path(tempfile.mkdtemp(dir=self.work))
        write_overlay(overlay, {header: text})
        try:
            if self.object_code(overlay) == self.shipped:
                return None
            program = self.explorer.build(overlay, self.work / "explore")
        except subprocess.CalledProcessError:
            return None  # not C++

        found = self.explore(program, FIRST.get(header, "core/")) or self.explore(program)
        return found or (self.unit_test(overlay) if header == "posix/holds.h" else "")

    def unit_test(self, overlay: Path) -> str:
        """How the unit test of holds.h finds a fault, or "" if it does not."""
        test, program = self.work / "holds_test.o", self.work / "holds_test"
        self.explorer.compile(ROOT / "tests/unit/holds_test.cpp", overlay, test, "-O1", "-g0", "-w")
        link = ["c++", test, "-o", program, "-lgtest_main", "-lgtest", "-lpthread"]
        subprocess.run(link, check=True, capture_output=True, text=True)
        ran = subprocess.run([program], capture_output=True, text=True, check=False, preexec_fn=limit_time)
        return "" if ran.returncode == 0 else "UNIT TEST tests/unit/holds_test.cpp"

    def explore(self, program: Path, *names: str) -> str:
        """How the cases of these names (none: all) find a fault, or "" if they do not."""
        command = [program, "run", "--quick", *names]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=limit_time) as ran:
            assert ran.stdout
            last = ""
            for line in ran.stdout:
                if line.startswith("    repeat it:"):
                    ran.kill()
                    return last
                if not line.startswith("    "):
                    last = re.sub(r"\s+", " ", line.strip())
            status = ran.wait()
        return "" if status == 0 else f"the explorer ended with status {status}, after: {last}"


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--count", type=int, default=20)
    arguments.add_argument("build", type=Path)
    options = arguments.parse_args()
    chance = random.Random(options.seed)
    listed = survivors.read_list()["random_changes"]

    texts = {name: (SOURCES / name).read_text(encoding="utf-8").splitlines() for name in HEADERS}
    changes = [c for name, lines in texts.items() for c in all_changes(name, lines)]
    for entry in listed:
        fitting = sum(is_explained(c, entry) for c in changes)
        if fitting != 1:
            sys.exit(f"{survivors.LISTED}: {fitting} changes are this one, not one: {entry}")
    places = list(dict.fromkeys((c.file, c.line) for c in changes))
    chance.shuffle(places)
    counted = missed = unexplained = by_unit = 0
    with tempfile.TemporaryDirectory(dir=options.build.resolve()) as work:
        trial = Trial(options.build.resolve(), Path(work))
        for name, i in places:
            if counted == options.count:
                break
            change = chance.choice([c for c in changes if (c.file, c.line) == (name, i)])
            text = "\n".join([*texts[name][:i], change.new, *texts[name][i + 1 :]]) + "\n"
            found = trial.run(name, text)
            number = f" #{change.number}" if change.number > 1 else ""
            what = f"{name}:{i + 1} {change.function}: {change.what}{number}: {texts[name][i].strip()}"
            if found is None:
                print(f"same    {what}", flush=True)
                continue
            counted += 1
            if found:
                by_unit += found.startswith("UNIT TEST")
                print(f"found   {what}\n        {found}", flush=True)
                continue
            missed += 1
            known = any(is_explained(change, entry) for entry in listed)
            unexplained += not known
            print(f"MISSED  {what}{'' if known else ' (not explained)'}", flush=True)
    print(
        f"seed {options.seed}: {counted} changes that count; {counted - missed - by_unit} found by exploration, "
        f"{by_unit} by a unit test, {missed} missed, of which {unexplained} are not explained"
    )
    return 1 if missed * 10 > counted or unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
