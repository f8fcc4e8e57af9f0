#!/usr/bin/env python3
"""The instructions that memory orders claim, looked for in a library that was built for aarch64.

    emitted.py LIBRARY [--only LOCK]... [--objdump PROGRAM] [--addr2line PROGRAM]

Each access to an atom goes through src/platform/atomic.h, and the library's line table says which line of the source
has made an instruction, through all that was inlined. So each such instruction is held against the order that its line
names: a load that acquires must be an ldar, a store that releases an stlr, an update one with the suffixes of
both sides (casal, ldaddal), a pair of exclusive accesses (ldaxr, stlxr), or a call of the compiler's function that is
one of these by the processor (__aarch64_cas8_acq_rel). More than that is allowed, less is a finding.

Besides, for each lock of the lists, something must acquire where it is taken and something release where it is given
back. That is asked of the code alone, so a source that names too weak an order is found as well.

Exit status 1 if there is a finding.
"""

import argparse
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ATOMS = ROOT / "src/platform/atomic.h"
FENCES = ROOT / "src/platform/scan.h"
ORDER = re.compile(r"(?:\b|memory_order_)(relaxed|acquire|release|acq_rel|seq_cst)\b")
ACQUIRES, RELEASES = {"acquire", "acq_rel", "seq_cst"}, {"release", "acq_rel", "seq_cst"}
LOOK_ON = 6  # lines that a call may have


@dataclass(frozen=True)
class Frame:
    function: str
    file: Path
    line: int

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT) if self.file.is_relative_to(ROOT) else self.file}:{self.line}"


@dataclass(frozen=True)
class Access:
    """An instruction that loads, stores, updates or fences; what it does beyond relaxed."""

    address: int
    text: str
    symbol: str  # the function that it is in
    acquires: bool
    releases: bool
    kind: str  # load, store, update, fence


def access_of(address: int, symbol: str, operation: str, operands: str) -> Access | None:
    def made(kind: str, acquires: bool, releases: bool) -> Access:
        return Access(address, f"{operation} {operands}".strip(), symbol, acquires, releases, kind)

    if operation == "bl" and (helper := re.search(r"<__aarch64_(?:cas|swp|ld[a-z]+)\d+_(\w+)>", operands)):
        order = helper[1]
        return made("update", "acq" in order, "rel" in order.replace("relax", ""))
    if operation == "dmb":
        return made("fence", True, operands != "ishld")
    # Not ldapr, which would do for acquire: an earlier stlr may come after it, which seq_cst does not allow.
    if re.fullmatch(r"ldar[bh]?", operation):
        return made("load", True, False)
    if re.fullmatch(r"stl(r|ur)[bh]?", operation):
        return made("store", False, True)
    if exclusive := re.fullmatch(r"(ld|st)(a|l)?xr[bh]?", operation):
        # One half of an update: its order is that of both halves, see `weaker`.
        return made("load half" if exclusive[1] == "ld" else "store half", exclusive[2] == "a", exclusive[2] == "l")
    if update := re.fullmatch(
        r"(?:cas|swp|ld(?:add|clr|set|eor|smax|smin|umax|umin)|st(?:add|clr|set|eor))(a?l?)[bh]?", operation
    ):
        return made("update", "a" in update[1], "l" in update[1])
    if re.fullmatch(r"ldu?r(s?[bhw])?|ldp(sw)?", operation):
        return made("load", False, False)
    if re.fullmatch(r"stu?r[bh]?|stp", operation):
        return made("store", False, False)
    return None


class Library:
    def __init__(self, file: Path, objdump: str, addr2line: str) -> None:
        self.file, self.objdump, self.addr2line = file, objdump, addr2line
        self.accesses: list[Access] = []
        self.calls: list[tuple[int, str]] = []  # from where, of which function
        self.helpers: dict[str, list[str]] = {}
        self._read()
        self.chains = self._chains()

    def _run(self, *command: str, **how: object) -> str:
        return subprocess.run(command, check=True, capture_output=True, text=True, **how).stdout

    def _read(self) -> None:
        symbol = ""
        for line in self._run(self.objdump, "-d", "--no-show-raw-insn", str(self.file)).splitlines():
            if head := re.fullmatch(r"[0-9a-f]+ <(.+)>:", line):
                symbol = head[1]
                continue
            found = re.match(r"\s*([0-9a-f]+):\s+([a-z0-9.]+)\s*(.*)", line)
            if found is None:
                continue
            if symbol.startswith("__aarch64_"):
                self.helpers.setdefault(symbol, []).append(found[2])
                continue
            if call := re.fullmatch(r"bl? [0-9a-f]+ <([^+>]+)>", f"{found[2]} {found[3]}"):
                self.calls.append((int(found[1], 16), call[1]))
            if access := access_of(int(found[1], 16), symbol, found[2], found[3].partition("//")[0].strip()):
                self.accesses.append(access)

    def _chains(self) -> dict[int, list[Frame]]:
        """By address: the source's places, the innermost first."""
        asked = "".join(f"{at:#x}\n" for at in [*(a.address for a in self.accesses), *(c[0] for c in self.calls)])
        chains: dict[int, list[Frame]] = {}
        chain: list[Frame] = []
        lines = iter(self._run(self.addr2line, "-a", "-i", "-f", "-C", "-e", str(self.file), input=asked).splitlines())
        for line in lines:
            if line.startswith("0x"):
                chain = chains.setdefault(int(line, 16), [])
                continue
            file, _, number = next(lines).partition(" ")[0].rpartition(":")
            chain.append(Frame(line, normal(file), int(number) if number.isdigit() else 0))
        return chains


@cache
def normal(file: str) -> Path:
    return Path(os.path.normpath(file))


class Sources:
    """Calls of an atom's functions, and the orders that they name."""

    def __init__(self) -> None:
        self._files: dict[Path, list[str]] = {}

    def line(self, frame: Frame) -> str:
        if frame.file not in self._files:
            self._files[frame.file] = frame.file.read_text().splitlines() if frame.file.is_file() else []
        lines = self._files[frame.file]
        return lines[frame.line - 1] if 0 < frame.line <= len(lines) else ""

    def statement(self, frame: Frame) -> str:
        """From the line on to the end of the statement, without comments."""
        parts = []
        for number in range(frame.line, frame.line + LOOK_ON):
            part = self.line(Frame("", frame.file, number)).partition("//")[0].strip()
            parts.append(part)
            if part.endswith((";", "{", "}")):
                break
        return " ".join(parts)


def operation_of(atoms_line: str) -> str:
    """The function of NativeAtomic that has this line."""
    found = re.search(r"\b(load|store|exchange|compare_exchange|fetch_\w+|compare_exchange_\w+)\(", atoms_line)
    return found[1].removesuffix("_strong") if found else ""


def orders_named(text: str, operation: str) -> set[str]:
    """The orders in the calls of the operation in the text; of a text that calls it by another name, all there are."""
    orders: set[str] = set()
    for call in re.finditer(rf"\b{operation}\(", text):
        depth, own = 1, ""  # its own words, without those of calls in its arguments
        for letter in text[call.end() :]:
            depth += {"(": 1, ")": -1}.get(letter, 0)
            if depth == 0:
                break
            own += letter if depth == 1 else " "
        orders |= set(ORDER.findall(own))
    return orders


@dataclass
class Claim:
    operation: str
    orders: set[str]  # of several calls of one line
    at: Frame


def claim_of(chain: list[Frame], sources: Sources) -> Claim | None:
    """What the source says of the access: from the atom outwards, the first place that names an order."""
    inner = [frame for frame in chain if frame.file in (ATOMS, FENCES)]
    if not inner:
        return None
    start = chain.index(inner[0])
    if chain[start].file == ATOMS:
        operation = operation_of(sources.line(chain[start]))
        if not operation or operation.endswith("_alone"):
            return None
    elif "thread_fence" in sources.line(chain[start]):
        operation = "fence"
    else:
        return None
    for place in chain[start + 1 :]:
        text = sources.statement(place)
        # An order that is handed on has its name where the function is called.
        orders = orders_named(text, operation) or orders_named(text, r"\w+")
        if orders:
            return Claim(operation, orders, place)
    return None


def strength(order: str) -> tuple[bool, bool]:
    return order in ACQUIRES, order in RELEASES


def is_too_weak(claim: Claim, access: Access) -> bool:
    """Whether the access does less than each order that its line names."""

    def does(order: str) -> bool:
        acquires, releases = strength(order)
        match access.kind:
            case "load" if claim.operation == "load":
                return access.acquires or not acquires
            case "store" if claim.operation == "store":
                return access.releases or not releases
            case "load half":
                return access.acquires or not acquires
            case "store half":
                return access.releases or not releases
            case "update":
                return (access.acquires or not acquires) and (access.releases or not releases)
            case "fence" if claim.operation == "fence":
                return access.releases or not releases
            case _:  # a plain access beside an update: what is stored, or what was expected
                return True

    return not any(does(order) for order in claim.orders)


@dataclass(frozen=True)
class Lock:
    name: str
    frames: tuple[str, ...]  # how the names of the core's functions begin, as patterns
    stages: tuple[tuple[str, str, bool], ...]  # what it is, the core's functions, does it acquire (or release)


READ_WRITE = (
    ("a read lock acquires", r"(try_|fast_|slow_)?read_(lock|arrive|if_open|wait)(_\w+)?", True),
    ("a read unlock releases", r"(fast_)?read_unlock(_any)?", False),
    ("a write lock acquires", r"(try_)?write_lock(_until)?", True),
    ("a write unlock releases", r"write_unlock", False),
)
MUTUAL = (
    ("a lock acquires", r"(try_|fast_|slow_)?lock(_until)?", True),
    ("an unlock releases", r"(fast_)?unlock", False),
)


@cache
def aliases() -> dict[str, str]:
    """The class behind each `using` of the locks."""
    texts = (header.read_text() for header in (ROOT / "src/locks").rglob("*.h"))
    return dict(pair for text in texts for pair in re.findall(r"^using (\w+) = (\w+)<P, W", text, re.MULTILINE))


def frames_of(core: str, header: str) -> tuple[str, ...]:
    """Its own class and those that it is made from: `class Core : public Base<...>`, `using Core = Over<P, W, 1>`."""
    text = (ROOT / "src" / header).read_text()
    if alias := re.search(rf"^using {core} = (\w+)<P, W,? ?(.*)>;", text, re.MULTILINE):
        numbers = {"P::kMostInARow": r"(?!1u?\b)\d+u?", "0": "0u?", "1": "1u?"}
        names = [name.partition("<")[0] for name in re.findall(r"\w[\w:]*(?:<[^>]*>)?", alias[2])]
        arguments = [numbers.get(name, aliases().get(name, name)) + r"\b" for name in names]
        # In the order of the arguments, after the platform and the wait policy.
        pattern = "".join(rf".*?, (lockswap::)?{a}" for a in arguments)
        return (rf"lockswap::{alias[1]}<[^>]*?{pattern}" if arguments else rf"lockswap::{alias[1]}<",)
    bases = re.findall(rf"^class (?:alignas\(\d+\) )?{core}\s+: public (\w+)<", text, re.MULTILINE)
    return tuple(rf"lockswap::{name}<" for name in (core, *bases))


def locks() -> list[Lock]:
    """Those of the lists that have code of ours."""
    found = []
    for file, macro, stages in (("rw_list.def", "RW_LOCK", READ_WRITE), ("mutex_list.def", "MUTEX", MUTUAL)):
        text = (ROOT / "src/registry" / file).read_text()
        for line in re.finditer(rf'^{macro}\("([\w-]+)", (\w+), "([^"]+)", ([^)]*)\)', text, re.MULTILINE):
            if "PASSED_THROUGH" not in line[4]:
                found.append(Lock(line[1], frames_of(line[2], line[3]), stages))
    return found


def function_of(name: str) -> str:
    """The function's own name in what a demangler says."""
    found = re.search(r"::(\w+)(?:<[^()]*>)?\(", name)
    return found[1] if found else ""


def helper_findings(helpers: dict[str, list[str]]) -> list[str]:
    """The compiler's own functions: both of their forms must do what the name says."""
    findings = []
    for name, operations in helpers.items():
        order = name.rpartition("_")[2]
        if name.endswith("_acq_rel"):
            order = "acq_rel"
        if order not in ("acq", "rel", "acq_rel"):
            continue
        have = set(operations)
        if "acq" in order and not any(re.match(r"ldaxr", o) for o in have):
            findings.append(f"{name} has no ldaxr: {sorted(have)}")
        if "rel" in order and not any(re.match(r"stlxr", o) for o in have):
            findings.append(f"{name} has no stlxr: {sorted(have)}")
        suffix = ("a" if "acq" in order else "") + ("l" if "rel" in order else "")
        if not any(re.fullmatch(rf"(cas|swp|ldadd|ldclr|ldset|ldeor){suffix}[bh]?", o) for o in have):
            findings.append(f"{name} has no instruction of Armv8.1 with {suffix!r}: {sorted(have)}")
    return findings


class Emitted:
    """What each claim of the source became in a library."""

    def __init__(self, library: Library, sources: Sources) -> None:
        self.instructions: Counter[str] = Counter()
        self.places: defaultdict[str, set[str]] = defaultdict(set)
        self.unnamed: set[str] = set()
        # By frame: does something acquire, or release, in it?
        self.ends: defaultdict[str, set[bool]] = defaultdict(set)
        self._library = library
        # A line's accesses in one function: the atom's, and such as find its address.
        self._groups: defaultdict[tuple, list[tuple[Claim, Access]]] = defaultdict(list)
        in_symbol: defaultdict[str, set[bool]] = defaultdict(set)
        for access in library.accesses:
            sides = {side for side, has in ((True, access.acquires), (False, access.releases)) if has}
            in_symbol[access.symbol] |= sides
            self._add(access, sides, sources)
        for address, callee in library.calls:  # what is not inlined
            for frame in library.chains[address]:
                self.ends[frame.function] |= in_symbol[callee]

    def _add(self, access: Access, sides: set[bool], sources: Sources) -> None:
        chain = self._library.chains[access.address]
        for frame in chain:
            self.ends[frame.function] |= sides
        if claim := claim_of(chain, sources):
            atom = next(n for n, frame in enumerate(chain) if frame.file in (ATOMS, FENCES))
            self._groups[access.symbol, tuple(chain[atom:]), access.kind].append((claim, access))
        elif any(frame.file == ATOMS for frame in chain) and access.kind not in ("fence", "load", "store"):
            self.unnamed.add(str(chain[-1]))

    def too_weak(self) -> list[str]:
        """Claims that no instruction keeps. Counts those that are kept."""
        findings = []
        for group in self._groups.values():
            good = [claim for claim, access in group if not is_too_weak(claim, access)]
            for claim in good:
                self._count(claim)
            if not good:
                claim, access = group[0]
                named = " or ".join(sorted(claim.orders))
                findings.append(f"{claim.at}: {claim.operation} {named} is '{access.text}' at {access.address:#x}")
        return findings

    def _count(self, claim: Claim) -> None:
        for order in claim.orders - {"relaxed"}:
            self.instructions[f"{claim.operation} {order}"] += 1
            self.places[f"{claim.operation} {order}"].add(str(claim.at))

    def not_shown(self, lock: Lock) -> list[str]:
        """The ends of a lock's sections in which nothing acquires, or releases."""

        def is_shown(functions: str, acquires: bool) -> bool:
            return any(
                acquires in sides and re.fullmatch(functions, function_of(name))
                for name, sides in self.ends.items()
                if any(re.match(frame, name) for frame in lock.frames)
            )

        missing = [what for what, functions, acquires in lock.stages if not is_shown(functions, acquires)]
        return [f"{lock.name}: nothing shows that {what}" for what in missing]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("--objdump", default="aarch64-linux-gnu-objdump")
    parser.add_argument("--addr2line", default="aarch64-linux-gnu-addr2line")
    parser.add_argument("--only", action="append", metavar="LOCK", help="ask for this lock's ends alone")
    options = parser.parse_args()
    library = Library(options.library, options.objdump, options.addr2line)
    emitted = Emitted(library, Sources())

    findings = emitted.too_weak() + helper_findings(library.helpers)
    asked = [lock for lock in locks() if not options.only or lock.name in options.only]
    for lock in asked:
        findings += emitted.not_shown(lock)

    print(f"{'order':28} instructions  lines of the source")
    for order, count in sorted(emitted.instructions.items()):
        print(f"{order:28} {count:12}  {len(emitted.places[order]):5}")
    unnamed = len(emitted.unnamed)
    print(f"locks of the lists whose ends were looked at: {len(asked)}; accesses without a name: {unnamed}")
    if not options.only and len(set().union(*emitted.places.values())) < 100:
        findings.append("fewer than 100 lines with an order were met: is the library built with -g1?")
    for finding in sorted(set(findings)):
        print(f"FAILED {finding}")
    print(f"emitted: {len(set(findings))} findings" if findings else "emitted: good")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
