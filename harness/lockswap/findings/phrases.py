"""What a lock has at some places, as a part of a verdict's sentence."""

import math
from functools import partial
from itertools import groupby

from lockswap.base.choice import BASELINES, NONE
from lockswap.base.text import plural, quantity, words
from lockswap.findings.effects import alike, called, effects
from lockswap.findings.measured import Place, Workload
from lockswap.findings.stats import STARVED

# Which threads a figure is of.
_SIDES = {"reads": "readers", "writes": "writers"}


def glibcs(workload: Workload) -> str:
    """What the locks are held against, as people call it."""
    if workload.info.get("versus") and workload.against == NONE:
        return "the first command"
    if not workload.takes_glibcs and workload.against in BASELINES:
        return "the program as it is"
    return "glibc's" if workload.against in BASELINES else workload.against


def said(workload: Workload, places: list[Place], brief: bool = False, where: bool | None = None) -> str:
    """'reads done a second 2.4× and 3.9× higher (all intervals above 2.2×) with 2 and 4 threads', for each figure.

    `where`: with the thread counts; if nothing is said, unless it is brief.
    """
    parts = []
    for _, group in groupby(places, key=lambda place: (place.metric.name, place.verdict)):
        group = list(group)
        metric = group[0].metric
        # 0 and "not 0" have no range with the others.
        for endless in (False, True):
            some = [place for place in group if (place.ratio.estimate in (0, math.inf)) == endless]
            if some:
                # If estimates differ, the reader must know which is which.
                wanted = (not brief or _differ(some)) if where is None else where
                threads = [place.threads for place in some]
                there = (workload.where if _differ(some) else partial(where_of, workload))(threads) if wanted else ""
                how = effects(metric, [place.ratio for place in some], glibcs(workload), brief)
                parts.append(f"{called(metric, brief)} {how}{there}")
    return (", " if brief else "; ").join(parts)


def _differ(places: list[Place]) -> bool:
    return not alike([place.ratio.estimate for place in places])


def where_of(workload: Workload, threads: list[int]) -> str:
    """The thread counts are not listed where they are all of them."""
    return " at every thread count" if len(threads) == len(workload.threads) > 1 else workload.where(threads)


def starved(workload: Workload, wins: list[Place], brief: bool = False) -> str:
    """Where the baseline gives a side next to nothing, a factor says little but that."""
    found: dict[str, list[tuple[int, float]]] = {}
    for place in wins:
        base = workload.cell(place.threads, workload.against)
        spread = base.metric(place.metric.name) if base else None
        sided = place.metric.role in _SIDES and place.metric.higher_is_better and not place.metric.per_cpu_of
        if sided and spread and place.ratio.low * STARVED >= 1:
            found.setdefault(place.metric.name, []).append((place.threads, spread.median))
    parts = []
    for metric in workload.metrics:
        if some := found.get(metric.name):
            said_of = f"{glibcs(workload)} starves {_SIDES[metric.role]}"
            rates = (f"{quantity(rate, metric.unit)} with {plural(threads, 'thread')}" for threads, rate in some)
            parts.append(f" ({said_of})" if brief else f"; {said_of}: {words(rates)}")
    return "".join(parts)
