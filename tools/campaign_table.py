"""A campaign in one Markdown table: each figure of each workload, under each lock, to the campaign's baseline.

usage: PYTHONPATH=harness build/venv/bin/python tools/campaign_table.py results/NAME

Estimates, above 1 = better: more operations, or a shorter time. In bold: shown to be better; in italics: shown to be
worse (docs/measuring.md says what is shown). Mutexes stand in the column of the rwlock of their name.
"""

import sys
from pathlib import Path

from lockswap.base.choice import MUTEX, NONE
from lockswap.findings import reading
from lockswap.findings.measured import Campaign, Workload
from lockswap.findings.stats import FASTER, SLOWER, Ratio


def cell(ratio: Ratio | None) -> str:
    if ratio is None:
        return ""
    estimate = ratio.estimate
    text = f"{estimate:,.0f}" if estimate >= 9.95 else f"{estimate:.2f}" if estimate >= 0.1 else f"{estimate:.2g}"
    mark = {FASTER: "**", SLOWER: "_"}.get(ratio.verdict, "")
    return f"{mark}{text}{mark}"


def columns(campaign: Campaign) -> list[str]:
    names = [lock.removeprefix(f"{MUTEX}:") for lock in campaign.locks]
    return [name for name in dict.fromkeys(names) if name not in (NONE, campaign.against)]


def locks_of(workload: Workload) -> dict[str, str]:
    """By column."""
    return {lock.removeprefix(f"{MUTEX}:"): lock for lock in workload.locks}


def table(campaign: Campaign) -> list[str]:
    names = columns(campaign)
    lines = [
        "| workload | figure | threads | " + " | ".join(f"`{name}`" for name in names) + " |",
        "| --- | --- | ---: |" + " ---: |" * len(names),
    ]
    for workload in campaign.workloads:
        locks = locks_of(workload)
        for metric in workload.metrics:
            for threads in workload.threads:
                found = [workload.ratio(threads, locks[name], metric) if name in locks else None for name in names]
                cells = " | ".join(map(cell, found))
                lines.append(f"| {workload.name} | {metric.name} | {threads} | {cells} |")
    return lines


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print("\n".join(table(reading.read(Path(sys.argv[1])).campaign)))
