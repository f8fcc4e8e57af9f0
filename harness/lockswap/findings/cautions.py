"""What could overturn the verdict of a workload; the rest of what there is to know about a campaign is advice."""

from collections.abc import Iterable

from lockswap.base.choice import NONE
from lockswap.base.text import in_seconds, plural, words
from lockswap.findings.measured import SHORT_S, Campaign, Place, Workload
from lockswap.findings.stats import EQUAL, FASTER, SLOWER

# How the other verdict reads after "is".
_WORDS = {EQUAL: "no difference", FASTER: "faster", SLOWER: "slower"}


def of(campaign: Campaign, workload: Workload, lock: str | None = None, wins: list[Place] | None = None) -> list[str]:
    """The most serious first. `lock` is the one that the verdict takes, if it takes one, and `wins` where it gains."""
    found = [*(doubts(workload, lock, wins or []) if lock else ()), *_crowded(campaign, wins or [])]
    return list(dict.fromkeys([*found, *_of_workload(campaign, workload)]))


def of_all(campaign: Campaign) -> str:
    """What holds for every verdict of the campaign; empty if there is no such thing."""
    cpus = campaign.env.get("cpu", {}).get("usable")
    most = max((threads for workload in campaign.workloads for threads in workload.threads), default=1)
    if len(campaign.workloads) < 2 or not cpus or most <= cpus:
        return ""
    return (
        f"All of this holds for {plural(cpus, 'CPU')}: with more threads than that, a run shows how threads wait "
        "for a CPU as much as the lock, and a larger machine may give other verdicts."
    )


def doubts(workload: Workload, lock: str, wins: list[Place]) -> Iterable[str]:
    """What makes this gain uncertain; what holds for the whole campaign is not among it."""
    changed = [
        (place.threads, quiet)
        for place in wins
        if (quiet := workload.changed_by_busy(place.threads, lock, place.metric))
    ]
    if changed:
        verdicts = words(dict.fromkeys(_WORDS.get(quiet.verdict, quiet.verdict) for _, quiet in changed))
        there = workload.where(sorted({threads for threads, _ in changed}))
        yield (
            f"without the rounds in which other programs had the machine the verdict{there} is another one "
            f"({verdicts}): measure again when the machine is quiet"
        )
    # What a user gains by preloading the library for this lock.
    pairs = [(place, workload.ratio(place.threads, lock, place.metric, NONE)) for place in wins]
    lacking = [place.threads for place, ratio in pairs if ratio and ratio.verdict != FASTER]
    if lacking:
        yield (
            f"against the program without the library ({NONE}) the gain is not shown"
            f"{workload.where(sorted(set(lacking)))}: the preload itself costs something, too"
        )
    if wins and any(place.ratio.noise is None for place in wins):
        yield "there is no noise floor, so how far the program differs from itself is not known: measure again"
    elif wins and not any(place.firm for place in wins):
        yield (
            "the gain is not clear of the noise: no interval of it lies beyond how far the program differs from "
            "itself; more rounds (--until 5%) would decide it"
        )


def _crowded(campaign: Campaign, wins: list[Place]) -> Iterable[str]:
    cpus = campaign.env.get("cpu", {}).get("usable")
    if cpus and wins and all(place.threads > cpus for place in wins):
        here = plural(cpus, "CPU")
        yield f"the gain is seen only with more threads than the {here} here: a larger machine may differ"


def _of_workload(campaign: Campaign, workload: Workload) -> Iterable[str]:
    cpus = campaign.env.get("cpu", {}).get("usable")
    if not campaign.about["finished"]:
        yield "the campaign was interrupted: 'lockswap compare --resume DIR' makes the rounds that are missing"
    if workload.is_short:
        short = in_seconds(SHORT_S)
        yield f"runs last less than {short}: starting the program weighs as much as its locks, give it more work"
    if campaign.about.get("wait") == "spin" and cpus and max(workload.threads) > cpus:
        yield "threads spun while others wanted their CPU: measure with --wait park"
    if cpus == 1:
        yield "with one CPU no two threads ever ran at once: measure on a machine with more"
