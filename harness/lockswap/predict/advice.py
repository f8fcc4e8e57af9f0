"""On how many processors a lock begins to be faster than the plainest of its kind, by the model: predict/advice.csv."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

COLUMNS = ("kind", "lock", "than", "machine", "workload", "writes", "processors")


@dataclass(frozen=True)
class Advice:
    kind: str
    lock: str
    than: str
    machine: str
    workload: str
    writes: float
    processors: int | None  # None: on no number of them does the model claim it

    @property
    def share(self) -> str:
        return f"{100 * self.writes:g}% writes"

    @property
    def says(self) -> str:
        if self.processors is None:
            return f"with {self.share}, not claimed to be faster than {self.than}"
        return f"with {self.share}, faster than {self.than} on {self.processors} and more processors"


def read(file: Path) -> list[Advice]:
    """Nothing if there is no such file, as in an old installation."""
    if not file.is_file():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        return [
            Advice(**{**row, "writes": float(row["writes"]), "processors": int(row["processors"] or 0) or None})
            for row in csv.DictReader(lines)
        ]


def of(advice: Iterable[Advice], kind: str, lock: str) -> str:
    """All that is said of a lock, in one line; empty if nothing is."""
    mine = [one for one in advice if (one.kind, one.lock) == (kind, lock)]
    if not mine:
        return ""
    return f"{'; '.join(one.says for one in mine)} ({mine[0].workload} on {mine[0].machine}; docs/predict.md)"


def tables(advice: Sequence[Advice]) -> list[str]:
    """The Markdown tables of docs/locks.md, one for each kind of lock."""
    kinds = dict.fromkeys((one.kind, one.than) for one in advice)
    return [_table(than, [one for one in advice if one.kind == kind]) for kind, than in kinds]


def _table(than: str, advice: Sequence[Advice]) -> str:
    shares = dict.fromkeys(one.share for one in advice)
    found = {(one.lock, one.share): one.processors for one in advice}
    lines = [f"| modeled: faster than `{than}` | {' | '.join(shares)} |", "| --- |" + " ---: |" * len(shares)]
    for lock in dict.fromkeys(one.lock for one in advice):
        cells = (str(found[lock, share] or "–") for share in shares)
        lines.append(f"| `{lock}` | {' | '.join(cells)} |")
    return "\n".join(lines)
