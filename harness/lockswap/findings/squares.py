"""What each lock is in each workload: the squares of the picture, from the same evidence as the verdict."""

from lockswap.findings import evidence
from lockswap.findings.evidence import Evidence
from lockswap.findings.measured import Campaign, Workload
from lockswap.findings.phrases import glibcs
from lockswap.findings.picture import BETTER, FAILED, MISSING, MIXED, OPEN, SAME, WORSE, Picture, Row, Square
from lockswap.findings.stats import EQUAL, SLOWER


def of(campaign: Campaign) -> list[Picture]:
    """One for each set of locks and their baseline, in the order of the workloads; none where no lock is under test."""
    groups: dict[tuple, list[Workload]] = {}
    for workload in campaign.workloads:
        groups.setdefault((tuple(workload.locks), workload.against), []).append(workload)
    found = [_picture(list(locks), against, workloads) for (locks, against), workloads in groups.items()]
    return [picture for picture in found if picture.locks]


def _picture(locks: list[str], against: str, workloads: list[Workload]) -> Picture:
    under_test = evidence.under_test(locks, against)
    measured = max(1, sum(workload.measured() for workload in workloads))
    rows = []
    for workload in workloads:
        known = {one.lock: _square(one) for one in evidence.of(workload, measured)}
        rows.append(Row(workload, {lock: known.get(lock) or _missing(workload, lock) for lock in under_test}))
    squares = {lock: [row.squares[lock] for row in rows] for lock in under_test}
    # A narrow screen shows the first ones.
    best = max(under_test, key=lambda lock: _rank(squares[lock]), default=None)
    return Picture(sorted(under_test, key=lambda lock: lock != best), against, glibcs(workloads[0]), rows)


def _rank(squares: list[Square]) -> tuple:
    """A lock that never loses goes before others, then counts in how many workloads it gains, then by how much."""
    sound = not any(square.loses or square.looks_worse or square.kind == FAILED for square in squares)
    wins = sum(bool(square.gains) and not square.loses for square in squares)
    return (
        sound and wins > 0,
        wins,
        sum(square.score for square in squares),
        sum(square.kind == MIXED for square in squares),
    )


def _square(one: Evidence) -> Square:
    losses = [*one.losses, *one.worse]
    shown = {
        "gains": tuple(one.wins),
        "losses": tuple(losses),
        "price": tuple(one.price),
        "judged": len(one.places) + len(one.others),
        "loses": bool(one.losses),
        "looks_worse": not one.losses and any(place.verdict == SLOWER for place in one.places),
        "score": one.score if one.wins and not one.losses else 0.0,
    }
    if one.failure:
        return Square(FAILED, why=one.failure, **shown)
    if one.wins:
        return Square(MIXED if losses else BETTER, **shown)
    # A figure that does not decide makes a lock worse only if chance does not.
    if one.losses or (one.worse and not one.is_chance(one.worse)):
        return Square(WORSE, **shown)
    if all(place.verdict == EQUAL for place in one.places):
        return Square(SAME, **shown)
    ratios = [place.ratio for place in one.places if place.ratio.trusted]
    span = (min(ratio.low for ratio in ratios), max(ratio.high for ratio in ratios)) if ratios else None
    return Square(OPEN, span=span, why="" if span else "too few rounds", **shown)


def _missing(workload: Workload, lock: str) -> Square:
    cells = [cell for threads in workload.threads if (cell := workload.cell(threads, lock))]
    failures = [status for cell in cells for status, _, _ in cell.failures]
    return Square(MISSING, why=failures[0] if failures else "")
