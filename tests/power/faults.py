"""The planted faults of faults.toml, and the table of what finds each: found.tsv."""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("faults.toml")
TABLE = Path(__file__).with_name("found.tsv")
HEAD = "# fault, its edit, tier that finds it, entry that does, CPU seconds until then; written by power.py\n"
TIERS = ("test", "full", "none")


@dataclass(frozen=True)
class Fault:
    name: str
    part: str
    file: str
    old: str  # occurs once in the file
    new: str
    breaks: str  # a sentence
    switched: str = ""  # instead of `new`, in a build with others: FAULT is true in the runs of this one
    near: tuple[str, ...] = ()  # parts of the names of entries that are tried first
    select: str = ""  # of the first of these, if it is pytest's, the tests (-k) that are tried before the others
    reason: str = ""  # why `test` need not find it

    @property
    def edit(self) -> str:
        """Differs for another edit, so that a row of the table says which one was found."""
        return hashlib.sha256("\0".join((self.file, self.old, self.new)).encode()).hexdigest()[:8]

    def planted_in(self, root: Path = ROOT) -> str:
        """The text of its file with the fault. Raises ValueError if the edit does not fit."""
        text = (root / self.file).read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise ValueError(f"{self.name}: its text occurs {text.count(self.old)} times in {self.file}, not once")
        if self.old == self.new:
            raise ValueError(f"{self.name}: changes nothing")
        return text.replace(self.old, self.new)


# Comes first in each file of a build with several faults.
SWITCH = """\
#ifndef PLANTED_FAULT
#define PLANTED_FAULT(name) (::planted_fault::is(name))
#include <cstdlib>
#include <cstring>
namespace planted_fault {
inline const char* const here = std::getenv("PLANTED_FAULT");
inline bool is(const char* name) { return here != nullptr && std::strcmp(here, name) == 0; }
}
#endif
"""


def planted_together(faults: list[Fault], root: Path = ROOT) -> dict[str, str]:
    """The files with all of these in them, each behind its switch."""
    texts: dict[str, str] = {}
    for fault in faults:
        fault.planted_in(root)
        text = texts.get(fault.file) or (root / fault.file).read_text(encoding="utf-8")
        switched = re.sub(r"\bFAULT\b", f'PLANTED_FAULT("{fault.name}")', fault.switched)
        texts[fault.file] = text.replace(fault.old, switched)
    return {file: SWITCH + text for file, text in texts.items()}


@dataclass(frozen=True)
class Row:
    name: str
    edit: str
    tier: str
    finder: str  # an entry, as tests/tiers has it; -: none
    seconds: float


def read_faults(file: Path = LIST) -> list[Fault]:
    listed = tomllib.loads(file.read_text(encoding="utf-8"))["fault"]
    return [Fault(**{**one, "near": tuple(one.get("near", ()))}) for one in listed]


def read_table(file: Path = TABLE) -> dict[str, Row]:
    rows = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        if line and not line.startswith("#"):
            name, edit, tier, finder, seconds = line.split("\t")
            rows[name] = Row(name, edit, tier, finder, float(seconds))
    return rows


def write_table(rows: dict[str, Row], file: Path = TABLE) -> None:
    lines = (f"{r.name}\t{r.edit}\t{r.tier}\t{r.finder}\t{r.seconds:.1f}\n" for _, r in sorted(rows.items()))
    file.write_text(HEAD + "".join(lines), encoding="utf-8")


def summary(faults: list[Fault], rows: dict[str, Row]) -> list[str]:
    """A line for each part, and one for all: how many faults there are, and which tier finds them."""

    def line(name: str, some: list[Fault]) -> str:
        found = [rows[f.name].tier if f.name in rows else "not run" for f in some]
        counts = ", ".join(f"{found.count(tier)} by {tier}" for tier in (*TIERS, "not run") if found.count(tier))
        return f"{name}: {len(some)} faults: {counts}"

    parts = dict.fromkeys(fault.part for fault in faults)
    return [line(part, [f for f in faults if f.part == part]) for part in parts] + [line("all", faults)]
