"""What the figures say, in words, and no more than their spread and the noise floor allow."""

from collections.abc import Iterable

from lockswap.base.choice import BASELINES, NONE, baseline
from lockswap.base.text import plural, quantity, share, words
from lockswap.findings.claims import claim, interval, reach, undecided
from lockswap.findings.measured import Workload, given_up
from lockswap.findings.measures import MetricInfo
from lockswap.findings.stats import MIN_PAIRS, OPEN, STARVED
from lockswap.records.status import CRASHED, FAILED, HUNG, NO_LOCK, SKIPPED, WRONG

__all__ = ["interval", "of"]


def of(workload: Workload) -> list[str]:
    """The sentences of one workload, the most important first."""
    if not workload.measured():
        return [*_failures(workload)] or ["Nothing was measured."]
    pairs = _most_pairs(workload)
    if pairs < MIN_PAIRS:
        short = f"No verdicts: only {plural(pairs, 'pair')} of runs where {MIN_PAIRS} are needed."
        verdicts = [short] if pairs else []
    else:
        verdicts = [*_locks(workload), *_preload(workload), *_windows(workload)]
    return [*_starvation(workload), *verdicts, *_failures(workload)]


def _most_pairs(workload: Workload) -> int:
    ratios = [
        workload.ratio(threads, lock, metric)
        for threads in workload.threads
        for lock in workload.locks
        if lock != workload.against
        for metric in workload.metrics
    ]
    return max((ratio.n for ratio in ratios if ratio), default=0)


def _locks(workload: Workload) -> Iterable[str]:
    against = workload.against
    for lock in workload.locks:
        if lock in BASELINES or lock == against:
            continue
        metrics = [metric for metric in workload.metrics if workload.happens(metric)]
        open_ = [metric for metric in metrics if undecided(workload, lock, metric, against)]
        for metric in metrics:
            # Several figures of which nothing can be said share one sentence.
            if len(open_) > 1 and metric in open_:
                continue
            which = f" ({metric.name})" if len(workload.metrics) > 1 else ""
            yield from _judged(workload, lock, metric, against, f"{lock}{which} against {against}")
        if len(open_) > 1:
            names = words([metric.name for metric in open_])
            every = " at any thread count" if len(workload.threads) > 1 else workload.where(workload.threads)
            fits = reach(workload, lock, open_, against)
            yield f"{lock} ({names}) against {against}: {OPEN}{every}, {fits}."


def _preload(workload: Workload) -> Iterable[str]:
    metric = workload.metrics[0]
    passed = baseline(workload.locks)
    yield from _judged(workload, passed, metric, NONE, f"The preload itself ({passed} against none, {metric.name})")


def _judged(workload: Workload, lock: str, metric: MetricInfo, against: str, subject: str) -> Iterable[str]:
    """By the clock, or whatever leads; then what the other figure and the quiet rounds say differently."""
    leading, other = workload.leading(metric)
    said = claim(workload, lock, leading, against, workload.threads)
    if not said:
        return
    yield f"{subject}{_measured_by(leading, other)}: {said}."
    if other:
        differing = [
            threads for threads in workload.threads if _differs(workload, threads, lock, leading, other, against)
        ]
        if said := claim(workload, lock, other, against, differing):
            yield f"{subject}{_measured_by(other, leading)}: {said}."
    changed = [threads for threads in workload.threads if workload.changed_by_busy(threads, lock, leading, against)]
    if said := claim(workload, lock, leading, against, changed, quiet=True):
        yield f"{subject}{_measured_by(leading, other)}, without the busy rounds: {said}."


def _measured_by(metric: MetricInfo, other: MetricInfo | None) -> str:
    if metric.per_cpu_of:
        return ", per CPU-second"
    return ", by the clock" if other else ""


def _differs(workload: Workload, threads: int, lock: str, leading: MetricInfo, other: MetricInfo, against: str) -> bool:
    """The other figure decides what the leading one left open, or says the opposite."""
    one, two = (workload.ratio(threads, lock, metric, against) for metric in (leading, other))
    return bool(one and two and two.verdict != OPEN and two.verdict != one.verdict)


def _windows(workload: Workload) -> Iterable[str]:
    """Where too little of the time was live for the figure to stand for it."""
    for metric in workload.metrics:
        for lock in workload.locks:
            lively = [
                f"{share(workload.kept(threads, lock, metric))} with {plural(threads, 'thread')} "
                f"({share(workload.kept(threads, NONE, metric))} without lockswap)"
                for threads in workload.threads
                if lock != workload.against and workload.counted(threads, lock, metric).name != metric.name
            ]
            if lively:
                yield (
                    f"{lock} is judged on all its time ({metric.instead}), not on live stretches ({metric.name}), as "
                    f"too little was live with it or {workload.against}. Live with {lock}: {words(lively)}."
                )


def _starvation(workload: Workload) -> Iterable[str]:
    """A lock under which one side gets next to nothing, while another lock feeds it."""
    for metric in workload.metrics:
        if metric.role not in ("reads", "writes") or not metric.higher_is_better:
            continue
        starved: dict[str, list[tuple[int, float, float, str]]] = {}
        for threads in workload.threads:
            rates = {}
            for lock in workload.locks:
                cell = workload.cell(threads, lock)
                spread = cell.metric(metric.name) if cell else None
                # The whole spread counts: a lock is only called starving if each of its runs was.
                if spread and spread.n >= 3:
                    rates[lock] = spread
            if not rates:
                continue
            best = max(rates, key=lambda lock: rates[lock].low)
            for lock, spread in rates.items():
                if rates[best].low > 0 and spread.high <= STARVED * rates[best].low:
                    starved.setdefault(lock, []).append((threads, spread.median, rates[best].median, best))
        yield from _starvation_sentences(workload, metric, starved)


def _starvation_sentences(workload: Workload, metric: MetricInfo, starved: dict) -> Iterable[str]:
    side = {"writes": "writers", "reads": "readers"}[metric.role]
    other = {"writes": "reads", "reads": "writes"}[metric.role]
    passed = baseline(workload.locks)
    both = set(starved) >= {NONE, passed}
    for lock, cases in starved.items():
        if both and lock == NONE:
            continue  # said once, for glibc, under what passes through
        name = f"glibc's lock (none and {passed})" if both and lock == passed else lock
        if lock in BASELINES and not both:
            name = f"glibc's lock ({lock})"
        figures = words(
            [
                f"{quantity(mine, metric.unit)} with {plural(threads, 'thread')} "
                f"({quantity(best, metric.unit)} with {by})"
                for threads, mine, best, by in cases
            ]
        )
        yield f"{name} starves {side}: {figures}. Its {other} are bought with that: do not compare them alone."


def _failures(workload: Workload) -> Iterable[str]:
    """Rows that are not figures: said, lest a hole be taken for 'not interesting'."""
    seen: dict[tuple[str, str, str], list[tuple[int, int, int]]] = {}
    for (threads, lock), cell in workload.cells.items():
        for status, detail, count in cell.failures:
            if given_up(detail):
                continue
            seen.setdefault((lock, status, detail), []).append((threads, count, cell.tried))
    # What befalls every lock alike is the program's or the machine's, and is said once.
    for (lock, status, detail), cases in _merge_locks(workload, seen):
        threads = [threads for threads, _, _ in cases]
        runs = sum(count for _, count, _ in cases)
        of = sum(total for _, _, total in cases)
        if status in (NO_LOCK, SKIPPED):
            what = "not measured" if status == SKIPPED else "not measured, it does not take the lock under test"
            yield f"{lock}: {what}: {detail.rstrip('.')}."
        else:
            there = workload.where(threads)
            yield f"{lock}: {runs} of {plural(of, 'run')} {_PAST[status]}{there}: {detail.rstrip('.')}."


_PAST = {
    CRASHED: "crashed",
    FAILED: "failed",
    HUNG: "hung",
    WRONG: "printed no result or a wrong result",
}


def _merge_locks(workload: Workload, seen: dict) -> Iterable[tuple[tuple[str, str, str], list]]:
    by_reason: dict[tuple[str, str], dict[str, list]] = {}
    for (lock, status, detail), cases in seen.items():
        by_reason.setdefault((status, detail), {})[lock] = cases
    for (status, detail), locks in by_reason.items():
        name = "Every lock" if len(locks) == len(workload.locks) > 1 else words(list(locks))
        merged: dict[int, tuple[int, int]] = {}
        for cases in locks.values():
            for threads, count, total in cases:
                was = merged.get(threads, (0, 0))
                merged[threads] = (was[0] + count, was[1] + total)
        yield (name, status, detail), [(t, *merged[t]) for t in sorted(merged)]
