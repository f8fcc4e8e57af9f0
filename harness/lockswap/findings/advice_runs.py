"""Warnings that come from the runs' figures. Each rule takes a campaign and yields what there is to say."""

import math
from collections.abc import Iterable
from statistics import fmean, median

from lockswap.base.choice import NONE
from lockswap.base.text import in_seconds, plural, share, times, words
from lockswap.findings.hints import Hint
from lockswap.findings.measured import SHORT_S, Campaign, Workload
from lockswap.findings.stats import LEAST, MIN_PAIRS, quartiles
from lockswap.records.status import HUNG

WIDE = 0.5
# A live share below this is little of the time, whatever the lock.
LITTLE_LIVE = 0.2
# So many quartile distances outside the middle half is far out (Tukey's outer fence).
FAR_OUT = 3.0
# Two heaps explain at least this part of the variance of what one would take for one (chance: below 5 % of such cells).
TWO_HEAPS = 0.93
# The first round counts as cold if it is worse by this than the worst of the others.
COLD = 1.05


def of(campaign: Campaign) -> Iterable[Hint]:
    for rule in (_hung, _noise, _no_noise, _same_differs, _short, _cold, _far_out, _two_heaps, _little_live, _wide):
        yield from rule(campaign)


def _named(campaign: Campaign, holds) -> list[str]:
    return [workload.name for workload in campaign.workloads if workload.measured() and holds(workload)]


def _hung(campaign: Campaign) -> Iterable[Hint]:
    hung = sorted({(row.workload, row.lock) for row in campaign.rows if row.status == HUNG})
    if hung:
        which = words([f"{workload} with {lock}" for workload, lock in hung])
        yield Hint(
            "did not end in time and was not tried again: a deadlock, or too short a limit",
            f"{which} did not end in time and was not tried again. A deadlock with this lock, or too short a limit: "
            "failures/ has what was printed; --timeout gives more time.",
            tuple(f"{workload} with {lock}" for workload, lock in hung),
        )


def _noise(campaign: Campaign) -> Iterable[Hint]:
    """The floor lies above what the locks differ by."""
    for workload in campaign.workloads:
        hidden, floor = 0, 1.0
        for threads in workload.threads:
            for lock in workload.locks:
                for metric in workload.metrics if lock != workload.against else ():
                    ratio = workload.ratio(threads, lock, workload.leading(metric)[0])
                    if ratio and ratio.hidden:
                        hidden, floor = hidden + 1, max(floor, ratio.noise)
        if hidden:
            yield Hint(
                "differences within the noise are not claimed",
                f"{workload.name}: {plural(hidden, 'difference')} no larger than the noise floor (up to "
                f"{times(floor)}: so far apart were runs of one and the same program), so not claimed. Longer runs "
                "(--seconds), more rounds (--until 5%) or a quieter machine lower it.",
                (workload.name,),
            )


def _no_noise(campaign: Campaign) -> Iterable[Hint]:
    def lacks_floor(workload: Workload) -> bool:
        return any(
            ratio and ratio.trusted and ratio.noise is None
            for threads in workload.threads
            for lock in workload.locks
            for ratio in [workload.ratio(threads, lock, workload.metrics[0])]
            if lock != workload.against
        )

    lacking = _named(campaign, lacks_floor)
    if lacking:
        yield Hint(
            "there is no noise floor: verdicts rest on the intervals alone",
            f"There is no noise floor for {words(lacking)}: fewer than {MIN_PAIRS} rounds have two good runs without "
            "lockswap, so verdicts rest on the intervals alone. A new campaign with good runs measures it.",
            tuple(lacking),
        )


def _same_differs(campaign: Campaign) -> Iterable[Hint]:
    """The two runs without lockswap differ more often than chance has it."""
    seen = [
        (noise.low > 1 + LEAST or noise.high < 1 - LEAST, workload.name)
        for workload in campaign.workloads
        for threads in workload.threads
        for metric in workload.metrics
        if (noise := workload.noise(threads, metric)) and noise.floor
    ]
    differing = [name for differs, name in seen if differs]
    if len(differing) > max(1, 0.15 * len(seen)):
        yield Hint(
            "two runs of the same program differ by more than chance",
            f"In {len(differing)} of {plural(len(seen), 'place')} ({words(sorted(set(differing)))}) two runs of one "
            "and the same program differ by more than chance. Something is left behind from run to run, such as files "
            "or a full cache: let 'prepare' of the recipe put it back.",
            tuple(sorted(set(differing))),
        )


def _short(campaign: Campaign) -> Iterable[Hint]:
    short = _named(campaign, lambda workload: workload.is_short)
    if short:
        yield Hint(
            f"runs last less than {in_seconds(SHORT_S)}: starting the program counts as much as its locks",
            f"Runs of {words(short)} last less than {in_seconds(SHORT_S)}: starting the program weighs as much as its "
            "locks. Give it more work.",
            tuple(short),
        )


def _logs(workload: Workload) -> Iterable[list[float]]:
    """The headline figure of each cell, in the order of the rounds, as logarithms; larger is better."""
    metric = workload.metrics[0]
    for cell in workload.cells.values():
        values = [value for value in cell.values(metric.name) if value > 0]
        if len(values) >= MIN_PAIRS:
            yield [math.log(value) * (1 if metric.higher_is_better else -1) for value in values]


def _cold(campaign: Campaign) -> Iterable[Hint]:
    def is_cold(workload: Workload) -> bool:
        cells = list(_logs(workload))
        cold = sum(logs[0] < min(logs[1:]) - math.log(COLD) for logs in cells)
        return cold > 1 and cold > len(cells) / 2

    cold = _named(campaign, is_cold)
    if cold:
        yield Hint(
            "the first round is worse than all others: caches were cold",
            f"The first round of {words(cold)} is worse than all later ones: caches were cold. The median does not "
            "mind one round; if it matters, --warmup 1 makes a run before.",
            tuple(cold),
        )


def _far_out(campaign: Campaign) -> Iterable[Hint]:
    far = {}
    for workload in campaign.workloads:
        for logs in _logs(workload) if workload.measured() else ():
            low, high = quartiles(logs)
            # A few percent are not worth a word, however close the others lie.
            fence = max(FAR_OUT * (high - low), math.log(COLD))
            far[workload.name] = far.get(workload.name, 0) + sum(not low - fence <= log <= high + fence for log in logs)
    far = {name: count for name, count in far.items() if count}
    if far:
        which = words([f"{count} of {name}" for name, count in far.items()])
        total = sum(far.values())
        verb = "lies" if total == 1 else "lie"
        yield Hint(
            f"outliers: {plural(total, 'run')} {verb} far from the others of their kind",
            f"Outliers: {plural(total, 'run')} ({which}) {verb} far from the others of their kind. Medians "
            "and intervals withstand a few; many mean other load, or a program that does not do the same each time.",
            tuple(far),
        )


def _two_heaps(campaign: Campaign) -> Iterable[Hint]:
    heaps = _named(campaign, lambda workload: any(_is_split(logs) for logs in _logs(workload)))
    if heaps:
        yield Hint(
            "results fall into two heaps with nothing between",
            f"Results of {words(heaps)} fall into two heaps with nothing between: the program runs in one of two ways, "
            "for example as the threads happen to be placed, and the median jumps from one to the other. Look at the "
            "single runs in the plots; --pin holds the threads in place.",
            tuple(heaps),
        )


def _is_split(logs: list[float]) -> bool:
    """Whether a cut, at least three runs from either end, explains nearly all that the runs differ by."""
    ordered = sorted(logs)
    if ordered[-1] - ordered[0] < 2 * math.log(COLD):
        return False
    within = [_scatter(ordered[:cut]) + _scatter(ordered[cut:]) for cut in range(3, len(ordered) - 2)]
    return bool(within) and 1 - min(within) / _scatter(ordered) > TWO_HEAPS


def _scatter(values: list[float]) -> float:
    """The sum of the squared distances from the mean."""
    mean = fmean(values)
    return sum((value - mean) ** 2 for value in values)


def _little_live(campaign: Campaign) -> Iterable[Hint]:
    def is_little(workload: Workload) -> bool:
        kept = [
            workload.kept(threads, NONE, metric)
            for metric in workload.metrics
            if metric.kept
            for threads in workload.threads
        ]
        kept = [share for share in kept if share is not None]
        return bool(kept) and median(kept) < LITTLE_LIVE

    little = _named(campaign, is_little)
    if little:
        yield Hint(
            f"all threads were live for less than {share(LITTLE_LIVE)} of the time",
            f"In {words(little)} all threads were live for less than {share(LITTLE_LIVE)} of the time even without "
            "lockswap: the machine does not run them at once. No more threads than CPUs, and a quiet machine, help.",
            tuple(little),
        )


def _wide(campaign: Campaign) -> Iterable[Hint]:
    def is_wide(workload: Workload) -> bool:
        spreads = [cell.metric(workload.metrics[0].name) for cell in workload.cells.values()]
        spreads = [spread.relative for spread in spreads if spread and spread.n > 2]
        return bool(spreads) and median(spreads) > WIDE

    wide = _named(campaign, is_wide)
    if wide:
        yield Hint(
            f"runs differ by more than {share(WIDE)} although nothing was changed",
            f"Runs of {words(wide)} differ by more than {share(WIDE)} of their median although nothing was changed. "
            "Longer runs (--seconds) or more rounds (--until 5%) narrow the intervals.",
            tuple(wide),
        )
