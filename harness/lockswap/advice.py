"""Warnings that teach: each names the cause and the cure. Data, so that terminal and page show the same."""

from collections.abc import Iterable
from statistics import median

from lockswap import perf, runner
from lockswap.campaign import AVAILABLE_LIMIT, STEAL_LIMIT
from lockswap.stats import MIN_PAIRS
from lockswap.summary import Campaign
from lockswap.text import plural, share, words

SHORT_S = 0.2
WIDE = 0.5


def of(campaign: Campaign) -> list[str]:
    return [
        text
        for rule in (_unfinished, _few, _disturbed, _busy, _crowded, _spinning, _short, _wide, _governor, _no_perf)
        for text in rule(campaign)
    ]


def _good(campaign: Campaign) -> list:
    return [row for row in campaign.rows if row.status == runner.OK]


def _unfinished(campaign: Campaign) -> Iterable[str]:
    if not campaign.about["finished"]:
        made, planned = len(campaign.rows), campaign.about.get("planned_runs")
        of = f" of {planned}" if planned else ""
        yield (
            f"The campaign was interrupted after {made}{of} runs: what follows rests on fewer rounds. "
            "'lockswap compare --resume DIR' makes the rest."
        )


def _few(campaign: Campaign) -> Iterable[str]:
    if campaign.about["repeats"] < MIN_PAIRS:
        yield (
            f"With {plural(campaign.about['repeats'], 'repeat')} no 95 % interval exists, so every verdict is "
            '"can\'t tell". '
            f"Use --repeats {MIN_PAIRS + 1}."
        )


def _disturbed(campaign: Campaign) -> Iterable[str]:
    good = _good(campaign)
    count = sum(row.disturbed for row in good)
    if not count:
        return
    yield (
        f"{count} of {plural(len(good), 'run')} were disturbed: others took more than {share(STEAL_LIMIT)} "
        f"of the CPU time, or less than {share(AVAILABLE_LIMIT)} of the CPUs were there for us. "
        "They are marked and counted; where the verdict without their rounds is another one, both are given. "
        "Measure when the machine is quiet, or with more --repeats."
    )


def _busy(campaign: Campaign) -> Iterable[str]:
    cpus = campaign.env.get("cpu", {}).get("usable") or 1
    load = campaign.env.get("load_at_start", 0)
    if load > 0.5 * cpus:
        yield (
            f"The load was {load:.1f} on {plural(cpus, 'CPU')} when the campaign began: something else was running. "
            "End it and measure again if the intervals are too wide."
        )


def _crowded(campaign: Campaign) -> Iterable[str]:
    cpus = campaign.env.get("cpu", {}).get("usable")
    most = max((threads for workload in campaign.workloads for threads in workload.threads), default=1)
    if cpus and most > cpus:
        yield (
            f"Up to {most} threads shared {plural(cpus, 'CPU')}. Beyond {plural(cpus, 'thread')} the figures "
            "show waiting and handing over as much as the lock's fast path; on a larger machine they differ."
        )


def _spinning(campaign: Campaign) -> Iterable[str]:
    cpus = campaign.env.get("cpu", {}).get("usable") or 1
    most = max((threads for workload in campaign.workloads for threads in workload.threads), default=1)
    if campaign.about.get("wait") == "spin" and most > cpus:
        yield (
            "Waiting threads spun while others wanted their CPU: this measures the scheduler. "
            "Use --wait park, or no more threads than CPUs."
        )


def _short(campaign: Campaign) -> Iterable[str]:
    short = []
    for workload in campaign.workloads:
        walls = [
            row.numbers["wall_s"]
            for row in _good(campaign)
            if row.workload == workload.name and "wall_s" in row.numbers
        ]
        if walls and median(walls) < SHORT_S:
            short.append(workload.name)
    if short:
        yield (
            f"Runs of {words(short)} last less than {SHORT_S:g} s: starting the program weighs as much as its locks. "
            "Give it more work."
        )


def _wide(campaign: Campaign) -> Iterable[str]:
    wide = []
    for workload in campaign.workloads:
        metric = workload.metrics[0]
        spreads = [cell.metric(metric.name) for cell in workload.cells.values()]
        spreads = [spread.relative for spread in spreads if spread and spread.n > 2]
        if spreads and median(spreads) > WIDE:
            wide.append(workload.name)
    if wide:
        yield (
            f"Runs of {words(wide)} differ by more than {share(WIDE)} of their median although nothing was changed. "
            "Longer runs (--seconds) or more --repeats narrow the intervals."
        )


def _governor(campaign: Campaign) -> Iterable[str]:
    governor = campaign.env.get("cpu", {}).get("governor")
    if governor in ("powersave", "ondemand", "conservative", "schedutil"):
        yield (
            f"The CPU frequency governor is '{governor}': the clock follows the load, which a lock changes. "
            "'cpupower frequency-set -g performance' holds it."
        )


def _no_perf(campaign: Campaign) -> Iterable[str]:
    if campaign.env and not isinstance(campaign.env.get("perf_events"), list):
        yield perf.ADVICE[0].upper() + perf.ADVICE[1:] + "."
