"""One claim: what a lock's ratios over the thread counts say, in half a sentence."""

import math

from lockswap.base.choice import PTHREAD
from lockswap.base.text import plural, times, words
from lockswap.findings.measured import Workload
from lockswap.findings.measures import MetricInfo
from lockswap.findings.stats import EQUAL, FASTER, MIN_PAIRS, OPEN, SAME, SLOWER, Noise, Ratio


def claim(
    workload: Workload, lock: str, metric: MetricInfo, baseline: str, threads: list[int], quiet: bool = False
) -> str:
    """'faster with 2 and 4 threads (1.9×, 2.3×); can't tell with 1 thread (0.96× to 1.04×)'."""
    by_verdict: dict[str, list[tuple[int, Ratio]]] = {}
    for count in threads:
        ratio = workload.ratio(count, lock, metric, baseline, quiet)
        if ratio is not None:
            by_verdict.setdefault(ratio.verdict, []).append((count, ratio))
    parts = []
    for verdict in (FASTER, SLOWER, EQUAL, OPEN):
        found = by_verdict.get(verdict)
        if not found:
            continue
        there = where(workload, [count for count, _ in found])
        ratios = [ratio for _, ratio in found]
        if verdict == EQUAL:
            parts.append(f"the same within {SAME:.0%}{there}".replace("%", " %"))
        elif verdict == OPEN:
            parts.append(f"can't tell{there} ({words([_why_open(ratio) for ratio in ratios])})")
        else:
            parts.append(f"{verdict}{there} ({_figures(ratios, verdict, baseline)})")
    return "; ".join(parts)


def _why_open(ratio: Ratio) -> str:
    if not ratio.trusted:
        return f"only {plural(ratio.n, 'pair')} of runs where {MIN_PAIRS} are needed"
    text = f"{times(ratio.low)} to {times(ratio.high)}"
    if ratio.hidden:
        text += f", but equals differed by up to {times(ratio.noise)}"
    return text


def undecided(workload: Workload, lock: str, metric: MetricInfo, baseline: str) -> bool:
    """Nothing can be said at any thread count, by the clock or per CPU second, with or without the busy rounds."""
    figures = [figure for figure in workload.leading(metric) if figure]
    if any(workload.changed_by_busy(threads, lock, figures[0], baseline) for threads in workload.threads):
        return False
    ratios = [workload.ratio(threads, lock, figure, baseline) for figure in figures for threads in workload.threads]
    ratios = [ratio for ratio in ratios if ratio]
    return bool(ratios) and all(ratio.trusted and ratio.verdict == OPEN for ratio in ratios)


def reach(workload: Workload, lock: str, metrics: list[MetricInfo], baseline: str) -> str:
    """How much is still possible: the outermost ends of the intervals."""
    leading = [workload.leading(metric)[0] for metric in metrics]
    ratios = [workload.ratio(threads, lock, metric, baseline) for metric in leading for threads in workload.threads]
    ratios = [ratio for ratio in ratios if ratio]
    low, high = min(ratio.low for ratio in ratios), max(ratio.high for ratio in ratios)
    return f"anything from {times(low)} to {times(high)} fits"


def _figures(ratios: list[Ratio], verdict: str, baseline: str) -> str:
    """The estimates, and how far the least certain of them can be trusted."""
    if len(ratios) == 1:
        (ratio,) = ratios
        return _estimate(ratio, baseline) + (
            f", between {times(ratio.low)} and {times(ratio.high)}" if 0 < ratio.estimate < math.inf else ""
        )
    if verdict == FASTER:
        bound = f"at least {times(min(ratio.low for ratio in ratios))}"
    else:
        bound = f"at most {times(max(ratio.high for ratio in ratios))}"
    return f"{', '.join(_estimate(ratio, baseline) for ratio in ratios)}; each {bound}"


def interval(ratio: Ratio | Noise, baseline: str = PTHREAD) -> str:
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


def where(workload: Workload, threads: list[int]) -> str:
    if workload.info.get("own") and len(workload.threads) == 1:
        return ""
    if len(threads) == len(workload.threads) > 1:
        return f" at every thread count, {words(threads)}"
    return f" with {words(threads)} thread{'' if threads == [1] else 's'}"
