"""What the library counted: the files that LOCKSWAP_STATS wrote, one for each process that wrote its own."""

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Counts:
    processes: int
    reads: int
    writes: int
    locks: int  # that were used; of all processes together
    to_glibc: int
    # For mutexes, where those were swapped.
    mutex_acquisitions: int = 0
    mutexes: int = 0
    cond_waits: int = 0

    @property
    def acquisitions(self) -> int:
        return self.reads + self.writes

    def __str__(self) -> str:
        text = f"{self.reads:,} reads, {self.writes:,} writes, {self.locks:,} locks"
        if self.mutexes:
            text += f"; {self.mutex_acquisitions:,} acquisitions of {self.mutexes:,} mutexes, {self.cond_waits:,} waits"
        return text + (f", {self.to_glibc:,} calls handed to glibc" if self.to_glibc else "")


def counts(folder: Path) -> Counts:
    """Adds up FOLDER/stats.<pid>."""
    found = [json.loads(file.read_text()) for file in folder.glob("stats.*")]
    total = {name: sum(f["totals"][name] for f in found) for name in ("reads", "writes", "to_glibc")}
    mutexes = [f["mutexes"] for f in found if f["mutexes"]]
    return Counts(
        processes=len(found),
        reads=total["reads"],
        writes=total["writes"],
        locks=sum(f["locks"] for f in found),
        to_glibc=total["to_glibc"],
        mutex_acquisitions=sum(m["totals"]["acquisitions"] for m in mutexes),
        mutexes=sum(m["locks"] for m in mutexes),
        cond_waits=sum(m["totals"]["waits"] for m in mutexes),
    )
