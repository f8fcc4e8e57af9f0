"""The verdict of a campaign: one sentence for all of it, and one for each workload.

A gain is claimed where an interval lies on one side of 1 and its estimate beyond the noise, and only if so many such
claims do not come about between equals as well: among the comparisons of a whole campaign some do. Nothing is added up
over workloads.
"""

from dataclasses import dataclass

from lockswap.base.choice import MUTEX, RANGE, RWLOCK, kinds_of
from lockswap.base.text import words
from lockswap.findings import evidence, workload_verdict
from lockswap.findings.evidence import Evidence
from lockswap.findings.measured import Campaign, Workload
from lockswap.findings.workload_verdict import KEEP, NOTHING, OPEN, TAKE, TRADE, WorkloadVerdict, glibcs

__all__ = ["KEEP", "NOTHING", "OPEN", "TAKE", "TRADE", "Verdict", "WorkloadVerdict", "verdict"]

CALLED = {RWLOCK: "reader-writer locks", MUTEX: "mutexes", RANGE: "range locks"}


@dataclass(frozen=True)
class Verdict:
    sentence: str  # may be several
    workloads: list[WorkloadVerdict]  # in the order of the campaign's


def verdict(campaign: Campaign) -> Verdict:
    groups: dict[tuple, list[Workload]] = {}
    for workload in campaign.workloads:
        groups.setdefault((tuple(workload.locks), workload.against), []).append(workload)
    found: dict[str, WorkloadVerdict] = {}
    sentences = []
    for (locks, against), workloads in groups.items():
        measured = sum(workload.measured() for workload in workloads)
        mine = [workload_verdict.of(campaign, workload, max(1, measured)) for workload in workloads]
        found |= {one.workload: one for one in mine}
        said = _sentence(workloads, mine, max(1, measured))
        if len(groups) > 1:
            kinds = kinds_of([against, *locks])
            said = f"{words(name for kind, name in CALLED.items() if kind in kinds).capitalize()}: {said}"
        sentences.append(said)
    if not sentences:
        sentences = ["Can't tell: the campaign has no workload."]
    return Verdict(" ".join(sentences), [found[workload.name] for workload in campaign.workloads])


def _sentence(workloads: list[Workload], found: list[WorkloadVerdict], measured: int) -> str:
    if len(workloads) == 1:
        return found[0].sentence
    keep = f"keep {glibcs(workloads[0])}"
    by_kind = {kind: [one for one in found if one.kind == kind] for kind in (TAKE, TRADE, KEEP, OPEN, NOTHING)}
    if len(by_kind[NOTHING]) == len(found):
        return f"Can't tell: nothing was measured. {found[0].workload}: {found[0].sentence}"
    rest = _rest(by_kind, keep)
    taken = [*by_kind[TAKE], *by_kind[TRADE]]
    if not taken:
        if not by_kind[KEEP]:
            return (
                f"Can't tell: in none of the {len(found)} workloads is a lock shown to be better, and in none is that "
                "ruled out. Longer runs (--seconds), more rounds (--until 5%) or a quieter machine can show it."
            )
        return f"{keep.capitalize()}: no lock is shown to be better in any workload{_also(rest[1:])}."
    records = _records(workloads, measured)
    never_losing = [lock for lock, (wins, losses) in records.items() if wins and not losses]
    if never_losing:
        best = max(never_losing, key=lambda lock: (len(records[lock][0]), _score(records[lock][0])))
        return _one_lock(best, records[best][0], found, rest)
    choices = "; ".join(_choice(one) for one in taken)
    locks = {one.lock for one in taken}
    lost = [one.workload.name for lock in locks if len(locks) == 1 for one in records[lock][1]]
    if lost := [name for name in lost if name not in {one.workload for one in taken}]:
        choices += f"; it is worse, or its runs fail, in {words(lost)}"
    start = "It depends on the program" if len(locks) > 1 or rest or lost else "Take one lock"
    return f"{start}: {'; '.join([choices, *rest])}."


def _one_lock(lock: str, wins: list[Evidence], found: list[WorkloadVerdict], rest: list[str]) -> str:
    names = [one.workload.name for one in wins]
    gains = {one.workload: one for one in found if one.lock == lock}
    said = [f"{name} ({gains[name].gain})" if name in gains else name for name in names]
    parts = [f"Take {lock}: it is better in {words(said)} and worse in none of the {len(found)} workloads."]
    prices = [f"{one.workload}: {one.price}" for one in gains.values() if one.price]
    if prices:
        parts.append(f"The price in {'. In '.join(prices)}.")
    others = [_choice(one) for one in found if one.lock and one.lock != lock]
    if others:
        parts.append(f"Better there: {'; '.join(others)}.")
    if rest:
        parts.append(f"Elsewhere: {'; '.join(rest)}.")
    cautions = [(name, one.cautions[0]) for name, one in gains.items() if one.cautions]
    if cautions:
        parts.append(f"What could overturn this: in {cautions[0][0]}, {cautions[0][1]}.")
    return " ".join(parts)


def _choice(one: WorkloadVerdict) -> str:
    condition = f" {one.condition}" if one.condition else ""
    price = f", at the price of {one.price}" if one.price else ""
    return f"{one.lock} for {one.workload}{condition} ({one.gain}{price})"


def _rest(by_kind: dict[str, list[WorkloadVerdict]], keep: str) -> list[str]:
    """The workloads in which no lock is taken."""
    named = {kind: words([one.workload for one in found]) for kind, found in by_kind.items() if found}
    parts = []
    if KEEP in named:
        parts.append(f"{keep} for {named[KEEP]}")
    if OPEN in named:
        parts.append(f"can't tell for {named[OPEN]}")
    if NOTHING in named:
        parts.append(f"nothing was measured of {named[NOTHING]}")
    return parts


def _also(rest: list[str]) -> str:
    return f"; {'; '.join(rest)}" if rest else ""


def _records(workloads: list[Workload], measured: int) -> dict[str, tuple[list[Evidence], list[Evidence]]]:
    """lock -> where it wins, and where it loses or fails."""
    found: dict[str, tuple[list[Evidence], list[Evidence]]] = {}
    for workload in workloads:
        for one in evidence.of(workload, measured):
            wins, losses = found.setdefault(one.lock, ([], []))
            if one.losses or one.failure:
                losses.append(one)
            elif one.wins:
                wins.append(one)
    return found


def _score(wins: list[Evidence]) -> float:
    return sum(one.score for one in wins)
