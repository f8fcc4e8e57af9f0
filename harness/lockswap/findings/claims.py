"""One claim: what a lock's ratios over the thread counts say, in half a sentence."""

import math

from lockswap.base.choice import PTHREAD
from lockswap.base.text import plural, times, words
from lockswap.findings.change import Change
from lockswap.findings.effects import is_time, nearest, short, short_interval
from lockswap.findings.measured import Workload
from lockswap.findings.measures import MetricInfo
from lockswap.findings.stats import EQUAL, FASTER, MIN_PAIRS, OPEN, SAME, SLOWER, Noise, Ratio


def claim(
    workload: Workload, lock: str, metric: MetricInfo, baseline: str, threads: list[int], quiet: bool = False
) -> str:
    """'faster with 2 threads (1.9× higher, 1.7× to 2.1×); can't tell with 1 thread (1.04× lower to 1.02× higher)'."""
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
        there = workload.where([count for count, _ in found])
        ratios = [ratio for _, ratio in found]
        if verdict == EQUAL:
            parts.append(f"the same within {times(1 + SAME)}{there}")
        elif verdict == OPEN:
            parts.append(f"can't tell{there} ({words([_why_open(ratio, metric) for ratio in ratios])})")
        else:
            parts.append(f"{verdict}{there} ({_figures(ratios, metric, baseline)})")
    return "; ".join(parts)


def _why_open(ratio: Ratio, metric: MetricInfo) -> str:
    if not ratio.trusted:
        return f"only {plural(ratio.n, 'pair')} of runs where {MIN_PAIRS} are needed"
    text = short_interval(metric, ratio.low, ratio.high, alone=True)
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
    alike = len({(metric.higher_is_better, is_time(metric)) for metric in metrics}) == 1
    return f"anything from {span(metrics[0] if alike else None, low, high)} fits"


def span(metric: MetricInfo | None, low: float, high: float) -> str:
    """Both ends with their sides."""
    return f"{short(metric, low)} to {short(metric, high)}"


def _figures(ratios: list[Ratio], metric: MetricInfo, baseline: str) -> str:
    """The estimates, and how far the least certain of them can be trusted."""
    if len(ratios) == 1:
        (ratio,) = ratios
        return _estimate(ratio, metric, baseline) + (
            f", {short_interval(metric, ratio.low, ratio.high)}" if 0 < ratio.estimate < math.inf else ""
        )
    estimates = ", ".join(_estimate(ratio, metric, baseline) for ratio in ratios)
    return f"{estimates}; all intervals above {times(nearest(ratios))}"


def interval(ratio: Ratio | Noise, baseline: str = PTHREAD, metric: MetricInfo | None = None) -> str:
    """The interval, or why there is none, in the words of the `metric`."""
    if not ratio.trusted:
        return f"{plural(ratio.n, 'pair')} only"
    if ratio.low == math.inf:
        return f"{baseline} got none"
    return short_interval(metric, ratio.low, ratio.high)


def interval_of_change(found: Change) -> str:
    """The same of how a ratio changed."""
    return short_interval(None, found.low, found.high) if found.trusted else f"{min(found.n)} rounds only"


def _estimate(ratio: Ratio, metric: MetricInfo, baseline: str) -> str:
    if ratio.estimate == math.inf:
        return f"{baseline} got none"
    if ratio.estimate == 0:
        return f"it got none, {baseline} did"
    return short(metric, ratio.estimate)
