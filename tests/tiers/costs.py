"""What each entry costs, in CPU seconds: tests/costs.tsv, a line for each entry and tier, written by the runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from entries import ROOT, Entry

FILE = ROOT / "tests/costs.tsv"
UNKNOWN = 2.0  # of an entry that nobody has recorded yet
HEAD = "# CPU seconds of each entry, by tier; written by tests/tiers/tiers.py record, see tests/tiers/README.md\n"

Costs = dict[tuple[str, str], float]  # tier and name


def read(file: Path = FILE) -> Costs:
    costs: Costs = {}
    if file.exists():
        for line in file.read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                tier, name, seconds = line.split("\t")
                costs[tier, name] = float(seconds)
    return costs


def write(costs: Costs, file: Path = FILE) -> None:
    lines = (f"{tier}\t{name}\t{seconds:.1f}\n" for (tier, name), seconds in sorted(costs.items()))
    file.write_text(HEAD + "".join(lines), encoding="utf-8")


def cost_of(entry: Entry, tier: str, costs: Costs) -> float:
    """In a run of that tier: a file of pytest has more tests in the full one."""
    return costs.get((tier, entry.name), costs.get((entry.tier, entry.name), UNKNOWN))


def total(entries: Iterable[Entry], tier: str, costs: Costs) -> float:
    return sum(cost_of(entry, tier, costs) for entry in entries)


def dearer(measured: Costs, recorded: Costs) -> list[str]:
    """What a run found that the record doesn't say: entries without a cost, and those that cost twice as much."""
    lines = []
    for (tier, name), seconds in sorted(measured.items()):
        known = recorded.get((tier, name))
        if known is None:
            lines.append(f"{name}: {seconds:.1f} CPU seconds, not recorded")
        elif seconds > 2 * known + 2:
            lines.append(f"{name}: {seconds:.1f} CPU seconds, recorded are {known:.1f}")
    return lines
