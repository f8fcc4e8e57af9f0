"""What the figures say, in words, and no more than their spread allows."""

import math
from collections.abc import Iterable

from lockswap import runner
from lockswap.registry import BASELINES, NONE, PTHREAD
from lockswap.stats import MIN_PAIRS, SAME, Ratio
from lockswap.summary import MetricInfo, Workload, given_up
from lockswap.text import plural, quantity, times, words

# A side whose rate is below this share of what another lock gives it is starved.
STARVED = 0.05


def of(workload: Workload) -> list[str]:
    """The sentences of one workload, the most important first."""
    if not workload.measured():
        return [*_failures(workload)] or ["Nothing was measured."]
    pairs = _most_pairs(workload)
    if pairs < MIN_PAIRS:
        verdicts = [f"No verdicts: only {plural(pairs, 'pair')} of runs where {MIN_PAIRS} are needed."]
    else:
        verdicts = [*_locks(workload), *_preload(workload)]
    return [*_starvation(workload), *verdicts, *_failures(workload)]


def _most_pairs(workload: Workload) -> int:
    ratios = [
        workload.ratio(threads, lock, metric)
        for threads in workload.threads
        for lock in workload.locks
        if lock != PTHREAD
        for metric in workload.metrics
    ]
    return max((ratio.n for ratio in ratios if ratio), default=0)


def _locks(workload: Workload) -> Iterable[str]:
    for lock in workload.locks:
        if lock in BASELINES:
            continue
        open_ = [metric for metric in workload.metrics if _undecided(workload, lock, metric)]
        for metric in workload.metrics:
            # Several figures of which nothing can be said share one sentence.
            if len(open_) > 1 and metric in open_:
                continue
            clauses = _clauses(workload, lock, metric, PTHREAD)
            if clauses:
                side = f" ({metric.name})" if len(workload.metrics) > 1 else ""
                yield f"{lock}{side} against pthread: {clauses}."
        if len(open_) > 1:
            names = words([metric.name for metric in open_])
            yield f"{lock} ({names}) against pthread: can't tell{_anywhere(workload)}, {_reach(workload, lock, open_)}."


def _undecided(workload: Workload, lock: str, metric: MetricInfo) -> bool:
    ratios = [workload.ratio(threads, lock, metric) for threads in workload.threads]
    ratios = [ratio for ratio in ratios if ratio]
    return bool(ratios) and all(ratio.trusted and ratio.verdict == "can't tell" for ratio in ratios)


def _anywhere(workload: Workload) -> str:
    return " at any thread count" if len(workload.threads) > 1 else _where(workload, workload.threads)


def _reach(workload: Workload, lock: str, metrics: list[MetricInfo]) -> str:
    """How much is still possible: the outermost ends of the intervals."""
    ratios = [workload.ratio(threads, lock, metric) for metric in metrics for threads in workload.threads]
    ratios = [ratio for ratio in ratios if ratio]
    low, high = min(ratio.low for ratio in ratios), max(ratio.high for ratio in ratios)
    return f"anything from {times(low)} to {times(high)} fits"


def _preload(workload: Workload) -> Iterable[str]:
    metric = workload.metrics[0]
    clauses = _clauses(workload, PTHREAD, metric, NONE)
    if clauses:
        yield f"The preload itself (pthread against none, {metric.name}): {clauses}."


def _clauses(workload: Workload, lock: str, metric: MetricInfo, baseline: str) -> str:
    """'faster with 2 and 4 threads (1.9×, 2.3×); can't tell with 1 thread (0.96× to 1.04×)'."""
    by_verdict: dict[str, list[tuple[int, Ratio]]] = {}
    for threads in workload.threads:
        ratio = workload.ratio(threads, lock, metric, baseline)
        if ratio is not None:
            by_verdict.setdefault(ratio.verdict, []).append((threads, ratio))
    parts = []
    for verdict in ("faster", "slower", "the same", "can't tell"):
        found = by_verdict.get(verdict)
        if not found:
            continue
        where = _where(workload, [threads for threads, _ in found])
        if verdict == "the same":
            parts.append(f"the same within {SAME:.0%}{where}".replace("%", " %"))
        elif verdict == "can't tell":
            few = min(ratio.n for _, ratio in found)
            if few < MIN_PAIRS:
                why = f"only {plural(few, 'pair')} of runs where {MIN_PAIRS} are needed"
            else:
                why = words([f"{times(ratio.low)} to {times(ratio.high)}" for _, ratio in found])
            parts.append(f"can't tell{where} ({why})")
        else:
            parts.append(f"{verdict}{where} ({_figures([ratio for _, ratio in found], verdict, baseline)})")
    return "; ".join(parts)


def _figures(ratios: list[Ratio], verdict: str, baseline: str) -> str:
    """The estimates, and how far the least certain of them can be trusted."""
    if len(ratios) == 1:
        (ratio,) = ratios
        return _estimate(ratio, baseline) + (
            f", between {times(ratio.low)} and {times(ratio.high)}" if 0 < ratio.estimate < math.inf else ""
        )
    if verdict == "faster":
        bound = f"at least {times(min(ratio.low for ratio in ratios))}"
    else:
        bound = f"at most {times(max(ratio.high for ratio in ratios))}"
    return f"{', '.join(_estimate(ratio, baseline) for ratio in ratios)}; each {bound}"


def interval(ratio: Ratio, baseline: str = PTHREAD) -> str:
    """The interval, or why there is none."""
    if not ratio.trusted:
        return f"{plural(ratio.n, 'pair')} only"
    if ratio.low == math.inf:
        return f"{baseline} got none"
    return f"{times(ratio.low)} to {times(ratio.high)}"


def _estimate(ratio: Ratio, baseline: str) -> str:
    if ratio.estimate == math.inf:
        return f"{baseline} got none"
    if ratio.estimate == 0:
        return f"it got none, {baseline} did"
    return times(ratio.estimate)


def _where(workload: Workload, threads: list[int]) -> str:
    if workload.info.get("own") and len(workload.threads) == 1:
        return ""
    if len(threads) == len(workload.threads) > 1:
        return f" at every thread count, {words(threads)}"
    return f" with {words(threads)} thread{'' if threads == [1] else 's'}"


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
    both = set(starved) >= set(BASELINES)
    for lock, cases in starved.items():
        if both and lock == NONE:
            continue  # said once, for glibc, under 'pthread'
        name = "glibc's lock (none and pthread)" if both and lock == PTHREAD else lock
        if lock in BASELINES and not both:
            name = f"glibc's lock ({lock})"
        figures = words(
            [
                f"{quantity(mine, metric.unit)} with {plural(threads, 'thread')} "
                f"({quantity(best, metric.unit)} under {by})"
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
        if status in (runner.NO_LOCK, runner.SKIPPED):
            what = "not measured" if status == runner.SKIPPED else "not measured, it does not take the lock under test"
            yield f"{lock}: {what}: {detail.rstrip('.')}."
        else:
            where = _where(workload, threads)
            yield f"{lock}: {runs} of {plural(of, 'run')} {_PAST[status]}{where}: {detail.rstrip('.')}."


_PAST = {
    runner.CRASHED: "crashed",
    runner.FAILED: "failed",
    runner.HUNG: "hung",
    runner.WRONG: "printed a wrong result",
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
