"""Warnings that teach: each names the cause and the cure. Data, so that terminal and page show the same.

Here are those of the campaign and the machine; those that the figures of the runs give are in advice_runs.
"""

import math
from collections.abc import Iterable

from lockswap.base.text import plural, share
from lockswap.findings import advice_runs
from lockswap.findings.fixed_time import fixed_time
from lockswap.findings.hints import Hint
from lockswap.findings.measured import Campaign
from lockswap.findings.precision import width
from lockswap.findings.stats import MIN_PAIRS
from lockswap.records.row import AVAILABLE_LIMIT, STEAL_LIMIT
from lockswap.records.status import OK

NO_PERF = (
    "perf is not usable here, so migrations are missing and the rest comes from the kernel's accounting of the "
    "process; install linux-perf, and as a normal user 'sysctl kernel.perf_event_paranoid=1'"
)


def of(campaign: Campaign) -> list[Hint]:
    first = (_unfinished, _fixed_time, _few, _budget, _wide_still, _disturbed, _busy)
    rules = (*first, advice_runs.of, _one_cpu, _crowded, _spinning, _governor, _no_perf)
    return [hint for rule in rules for hint in rule(campaign)]


def _unfinished(campaign: Campaign) -> Iterable[Hint]:
    if not campaign.about["finished"]:
        made, planned = len(campaign.rows), campaign.about.get("planned_runs")
        of = f" of {planned}" if planned else ""
        yield Hint(
            f"interrupted after {made}{of} runs: 'lockswap compare --resume' measures the rest",
            f"The campaign was interrupted after {made}{of} runs: what follows rests on fewer rounds. "
            "'lockswap compare --resume DIR' measures the rest.",
        )


def _fixed_time(campaign: Campaign) -> Iterable[Hint]:
    for workload in campaign.workloads:
        if seconds := fixed_time(workload):
            yield Hint(
                "runs are of equal length, whatever the lock: use --metric",
                f"Runs of {workload.name} are of equal length, {seconds:.2g} s, whatever the lock. If the program runs "
                "for a fixed time, that says nothing of locks: give --metric REGEX, the figure that it prints, as in "
                "--metric 'ops: ([0-9]+)'.",
                (workload.name,),
            )


def _few(campaign: Campaign) -> Iterable[Hint]:
    rounds = max((row.round for row in campaign.rows), default=0)
    if campaign.about["finished"] and 0 < rounds < MIN_PAIRS:
        cure = "--budget was spent before more were made: give it more minutes, or fewer workloads and thread counts"
        if campaign.about["repeats"] < MIN_PAIRS:
            cure = f"Use --repeats {MIN_PAIRS + 1}"
        yield Hint(
            f"only {plural(rounds, 'round')}: a 95 % interval needs {MIN_PAIRS}",
            f'With {plural(rounds, "round")} no 95 % interval exists, so every verdict is "can\'t tell". {cure}.',
        )


def _budget(campaign: Campaign) -> Iterable[Hint]:
    about = campaign.about
    fewest = min(
        max((row.round for cell in workload.cells.values() for row in cell.rows if row.threads == threads), default=0)
        for workload in campaign.workloads
        for threads in workload.threads
    )
    if about["finished"] and about.get("budget_min") and not about.get("until") and fewest < about["repeats"]:
        yield Hint(
            f"--budget was spent after {fewest} of {about['repeats']} rounds: intervals are wider than planned",
            f"The budget of {about['budget_min']:g} min was spent after {fewest} of {about['repeats']} rounds, so "
            "intervals are wider than planned. Raise --budget, or run fewer workloads, locks or thread counts.",
        )


def _wide_still(campaign: Campaign) -> Iterable[Hint]:
    until = campaign.about.get("until")
    if not until or not campaign.about["finished"]:
        return
    open_ = [
        (reached, workload.name, threads)
        for workload in campaign.workloads
        for threads in workload.threads
        if (reached := width(workload, threads)) > until
    ]
    if open_:
        reached, name, threads = max(open_)
        widest = "has fewer than 6 rounds" if reached == math.inf else f"is within {share(reached)}"
        yield Hint(
            f"--budget was spent before all intervals were within {share(until)}: {len(open_)} are wider",
            f"The budget of {campaign.about['budget_min']:g} min was spent before every interval was within "
            f"{share(until)} of its estimate: {plural(len(open_), 'place')} still open, the widest, {name} with "
            f"{plural(threads, 'thread')}, {widest}. Half the width takes four times the rounds: raise --budget, or "
            "make runs longer (--seconds) or the machine quieter.",
        )


def _disturbed(campaign: Campaign) -> Iterable[Hint]:
    good = [row for row in campaign.rows if row.status == OK]
    stolen = sum(row.numbers.get("steal_share", 0) > STEAL_LIMIT for row in good)
    taken = sum(row.disturbed for row in good) - stolen
    if stolen:
        yield Hint(
            f"the hypervisor took CPU time away in {stolen} of {plural(len(good), 'run')}",
            f"During {stolen} of {plural(len(good), 'run')} the hypervisor gave more than {share(STEAL_LIMIT)} of the "
            "CPU time to other virtual machines. Their rounds are marked as busy. No load of yours did this: measure "
            "at another time or on another host, or judge by --per-cpu, which stolen time does not enter.",
        )
    if taken > 0:
        yield Hint(
            f"other programs took CPU time in {taken} of {plural(len(good), 'run')}",
            f"During {taken} of {plural(len(good), 'run')} less than {share(AVAILABLE_LIMIT)} of the CPUs were there "
            "for us: something else was running. Their rounds are marked as busy, and counted; where the verdict "
            "without them is another one, both are given. End the other load, or use more rounds (--until 5%), or "
            "--per-cpu.",
        )


def _busy(campaign: Campaign) -> Iterable[Hint]:
    cpus = campaign.env.get("cpu", {}).get("usable") or 1
    load = campaign.env.get("load_at_start", 0)
    if load > 0.5 * cpus:
        yield Hint(
            f"something else was running at the start: a load of {load:.1f} on {plural(cpus, 'CPU')}",
            f"The load was {load:.1f} on {plural(cpus, 'CPU')} when the campaign began: something else was running. "
            "End it and measure again if the intervals are too wide.",
        )


def _one_cpu(campaign: Campaign) -> Iterable[Hint]:
    if campaign.env.get("cpu", {}).get("usable") == 1:
        yield Hint(
            "there is one CPU: no two threads ever ran at once",
            "There is one CPU, so no two threads ever ran at once: how locks scale cannot be seen here, only what an "
            "acquisition costs and how threads pass the lock on. Use a machine with more, or lift the limit "
            "(taskset, cgroup).",
        )


def _most_threads(campaign: Campaign) -> int:
    return max((threads for workload in campaign.workloads for threads in workload.threads), default=1)


def _crowded(campaign: Campaign) -> Iterable[Hint]:
    cpus, most = campaign.env.get("cpu", {}).get("usable"), _most_threads(campaign)
    if cpus and most > cpus:
        yield Hint(
            f"up to {most} threads on {plural(cpus, 'CPU')}: waiting counts as much as the lock's fast path",
            f"Up to {most} threads shared {plural(cpus, 'CPU')}. Beyond {plural(cpus, 'thread')} the figures "
            "show waiting and hand-offs as much as the lock's fast path; on a larger machine they differ.",
        )


def _spinning(campaign: Campaign) -> Iterable[Hint]:
    cpus = campaign.env.get("cpu", {}).get("usable") or 1
    if campaign.about.get("wait") == "spin" and _most_threads(campaign) > cpus:
        yield Hint(
            "threads spun while others wanted their CPU: use --wait park",
            "Waiting threads spun while others wanted their CPU: this measures the scheduler. "
            "Use --wait park, or no more threads than CPUs.",
        )


def _governor(campaign: Campaign) -> Iterable[Hint]:
    governor = campaign.env.get("cpu", {}).get("governor")
    if governor in ("powersave", "ondemand", "conservative", "schedutil"):
        yield Hint(
            f"the CPU frequency governor is '{governor}': the clock follows the load",
            f"The CPU frequency governor is '{governor}': the clock follows the load, which a lock changes. "
            "'cpupower frequency-set -g performance' holds it.",
        )


def _no_perf(campaign: Campaign) -> Iterable[Hint]:
    if campaign.env and not isinstance(campaign.env.get("perf_events"), list):
        yield Hint("perf is not usable here: migrations are missing", NO_PERF[0].upper() + NO_PERF[1:] + ".")
