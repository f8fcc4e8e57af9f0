"""The gate for a user's CI: is any lock slower than the baseline by more than is allowed?"""

from dataclasses import dataclass, field

from lockswap.base.choice import BASELINES
from lockswap.base.text import plural, times
from lockswap.findings.claims import interval
from lockswap.findings.measured import Campaign, Workload
from lockswap.findings.stats import SLOWER
from lockswap.records.status import SKIPPED

FAILED = 3  # exit status


@dataclass
class Gate:
    """One line each. `violations` close the gate; `open_` is what could not be told, and passes."""

    limit: float
    violations: list[str] = field(default_factory=list)
    open_: list[str] = field(default_factory=list)
    passed: int = 0

    def lines(self) -> list[str]:
        closed = f"gate: FAILED, {plural(len(self.violations), 'violation')} of --fail-below {self.limit:g}"
        verdict = closed if self.violations else f"gate: passed, --fail-below {self.limit:g}"
        counts = f"{plural(self.passed, 'ratio')} shown to be above, {len(self.open_)} can't tell"
        return [*self.violations, *self.open_, f"{verdict} ({counts})"]


def check(campaign: Campaign, limit: float) -> Gate:
    """Each lock under test against the campaign's baseline, each thread count, rates and times.

    A violation is an interval that lies below the limit, and a difference beyond the noise floor; or a lock whose runs
    failed where the baseline's did not.
    """
    gate = Gate(limit)
    for workload in campaign.workloads:
        locks = [lock for lock in workload.locks if lock not in BASELINES] or workload.locks
        for lock in locks:
            for threads in workload.threads:
                if lock != workload.against:
                    _check(gate, workload, lock, threads)
    return gate


def _check(gate: Gate, workload: Workload, lock: str, threads: int) -> None:
    what = f"{workload.name}, {plural(threads, 'thread')}, {lock}"
    cell, base = workload.cell(threads, lock), workload.cell(threads, workload.against)
    if cell and cell.failures and base and not base.failures and cell.failures[0][0] != SKIPPED:
        status, detail, _ = cell.failures[0]
        gate.violations.append(f"gate: {what}: {status}: {detail}")
    for metric in workload.awaited:
        leading, _ = workload.leading(metric)
        ratio = workload.ratio(threads, lock, leading)
        if ratio is None:
            gate.open_.append(f"gate: {what}, {leading.name}: can't tell: no pair of good runs")
            continue
        against = workload.against
        figures = f"{what}, {leading.name}: {times(ratio.estimate)} of {against}, {interval(ratio, against)}"
        if ratio.trusted and ratio.high < gate.limit and ratio.verdict == SLOWER:
            gate.violations.append(f"gate: {figures}: below {gate.limit:g}")
        elif ratio.trusted and ratio.low >= gate.limit:
            gate.passed += 1
        else:
            gate.open_.append(f"gate: {figures}: can't tell whether it is below {gate.limit:g}")
