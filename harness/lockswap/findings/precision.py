"""How precise a campaign is by now: the widest interval that `--until` waits for."""

import math

from lockswap.base.choice import BASELINES
from lockswap.findings.measured import Cell, Workload
from lockswap.records.status import NO_LOCK, SKIPPED


def width(workload: Workload, threads: int) -> float:
    """The widest interval that there is to be waited for, see Ratio.width; 0 if there is none.

    Waited for are rates and times of the locks under test, and the noise floor of those; not tails of waiting times,
    starved sides, and locks that fail, as more rounds would not help those.
    """
    under_test = [lock for lock in workload.locks if lock not in BASELINES]
    locks = [lock for lock in under_test or workload.locks if lock != workload.against]
    if _fails(workload.cell(threads, workload.against)):
        return 0.0
    widths = [0.0]
    for lock in locks:
        if _fails(workload.cell(threads, lock)):
            continue
        for metric in workload.awaited:
            leading = workload.leading(metric)[0]
            ratio = workload.ratio(threads, lock, leading)
            if ratio and not math.isnan(ratio.width):
                widths.append(ratio.width)
                if ratio.noise is not None:
                    noise = workload.noise(threads, workload.counted(threads, lock, leading))
                    widths.append(noise.width)
    return max(widths)


def _fails(cell: Cell | None) -> bool:
    """Not measured, or given up."""
    last = max(cell.rows, key=lambda row: row.round, default=None) if cell else None
    return last is None or last.status in (SKIPPED, NO_LOCK)
