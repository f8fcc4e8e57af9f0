"""The gate for a user's CI: is any lock slower than the baseline by more than is allowed? And, also without a gate:
was anything measured at all?"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from lockswap.base.choice import BASELINES, Choice
from lockswap.base.junit import ERROR, FAILURE, Case, document
from lockswap.base.junit import SKIPPED as SKIPPED_CASE
from lockswap.base.text import plural, times
from lockswap.findings.claims import interval
from lockswap.findings.effects import short
from lockswap.findings.measured import Campaign, Workload
from lockswap.findings.measures import MetricInfo
from lockswap.findings.stats import SLOWER
from lockswap.records.status import SKIPPED

# Exit statuses.
FAILED = 3
NOT_MEASURED = 4


@dataclass
class Gate:
    """One line each. `violations` close the gate, and so does `unmeasured`, of which there is no figure; `open_` is
    what the figures leave open, and passes."""

    limit: float
    violations: list[str] = field(default_factory=list)
    unmeasured: list[str] = field(default_factory=list)
    open_: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)  # to be above the limit

    @property
    def passed(self) -> int:
        return len(self.shown)

    @property
    def status(self) -> int:
        """Exit status."""
        return FAILED if self.violations else NOT_MEASURED if self.unmeasured else 0

    def lines(self) -> list[str]:
        verdict = {
            FAILED: f"gate: FAILED, {plural(len(self.violations), 'violation')} of --fail-below {self.limit:g}",
            NOT_MEASURED: f"gate: FAILED, --fail-below {self.limit:g} has nothing to judge by",
            0: f"gate: passed, --fail-below {self.limit:g}",
        }[self.status]
        counts = f"{plural(self.passed, 'ratio')} shown to be above, {len(self.open_)} can't tell"
        counts += f", {len(self.unmeasured)} not measured" if self.unmeasured else ""
        return [*self.violations, *self.unmeasured, *self.open_, f"{verdict} ({counts})"]

    def as_junit(self) -> str:
        """What the figures leave open passes, as it does for the exit status, and counts as skipped."""
        kinds = ((self.violations, FAILURE), (self.unmeasured, ERROR), (self.open_, SKIPPED_CASE), (self.shown, ""))
        cases = [_case(line, kind) for some, kind in kinds for line in some]
        return document(f"lockswap compare --fail-below {self.limit:g}", cases)


def _case(line: str, outcome: str) -> Case:
    """A line is `gate: WHAT: what is known of it`."""
    what, _, known = line.removeprefix("gate: ").partition(": ")
    return Case(what, outcome, known, known)


def check(campaign: Campaign, limit: float) -> Gate:
    """Each lock under test against the campaign's baseline, each thread count, rates and times.

    A violation is an interval that lies below the limit, and a difference beyond the noise floor; or a lock whose runs
    failed where the baseline's did not. What has no ratio at all closes the gate too: it can't be vouched for.
    """
    gate = Gate(limit)
    for workload, lock, threads in _under_test(campaign):
        _check(gate, workload, lock, threads)
    return gate


def nothing_measured(campaign: Campaign) -> str | None:
    """Why no lock under test has a ratio, by the first of them; None if one has."""
    why = None
    for workload, lock, threads in _under_test(campaign):
        if any(workload.ratio(threads, lock, leading) for leading in _leading(workload)):
            return None
        why = why or f"{_what(workload, lock, threads)}: {_why_not(workload, lock, threads)}"
    return why or "no run was made"


def _under_test(campaign: Campaign) -> Iterator[tuple[Workload, str, int]]:
    for workload in campaign.workloads:
        others = [lock for lock in workload.locks if lock != workload.against]
        locks = [lock for lock in others if lock not in BASELINES and Choice.of(lock).peer is None] or others
        yield from ((workload, lock, threads) for lock in locks for threads in workload.threads)


def _what(workload: Workload, lock: str, threads: int) -> str:
    return f"{workload.name}, {plural(threads, 'thread')}, {lock}"


def _leading(workload: Workload) -> list[MetricInfo]:
    return [workload.leading(metric)[0] for metric in workload.awaited]


def _why_not(workload: Workload, lock: str, threads: int) -> str:
    """Why the lock has no ratio."""
    for name in (lock, workload.against):
        cell = workload.cell(threads, name)
        if cell and cell.failures and not cell.good:
            status, detail, _ = cell.failures[0]
            return f"{status}: {detail}" if name == lock else f"the baseline {name}: {status}: {detail}"
    return "no round has a good run of both it and the baseline"


def _check(gate: Gate, workload: Workload, lock: str, threads: int) -> None:
    what = _what(workload, lock, threads)
    cell, base = workload.cell(threads, lock), workload.cell(threads, workload.against)
    if cell and cell.failures and base and not base.failures and cell.failures[0][0] != SKIPPED:
        status, detail, _ = cell.failures[0]
        gate.violations.append(f"gate: {what}: {status}: {detail}")
    ratios = [(leading, workload.ratio(threads, lock, leading)) for leading in _leading(workload)]
    if not any(ratio for _, ratio in ratios):
        gate.unmeasured.append(f"gate: {what}: not measured: {_why_not(workload, lock, threads)}")
        return
    allowed = f"{times(gate.limit)} {'worse' if gate.limit <= 1 else 'better'}"
    for leading, ratio in ratios:
        if ratio is None:
            gate.open_.append(f"gate: {what}, {leading.name}: can't tell: no pair of good runs")
            continue
        against = workload.against
        estimate, between = short(leading, ratio.estimate), interval(ratio, against, leading)
        figures = f"{what}, {leading.name}: {estimate} than {against}, {between}"
        if ratio.trusted and ratio.high < gate.limit and ratio.verdict == SLOWER:
            gate.violations.append(f"gate: {figures}: below {gate.limit:g}, more than {allowed}")
        elif ratio.trusted and ratio.low >= gate.limit:
            gate.shown.append(f"gate: {figures}")
        else:
            gate.open_.append(f"gate: {figures}: can't tell whether it is below {gate.limit:g}, more than {allowed}")
