"""What `lockswap compare` says where nothing is named to run: which campaigns there are, how long each takes, and the
commands that start them."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from lockswap.base.choice import BASELINES
from lockswap.base.columns import aligned
from lockswap.base.text import plural, words
from lockswap.campaign.job import Job
from lockswap.campaign.plan import runs_of
from lockswap.campaign.request import Request
from lockswap.campaign.time_estimate import TimeEstimate
from lockswap.recipes.reader import ALL


def is_wanted(request: Request) -> bool:
    """Whether the request names nothing to run."""
    return not (request.workloads or request.command or request.server or request.quick or request.figure)


def offered(request: Request) -> tuple[Request, Request]:
    """The two campaigns that the request could mean: the short one, and the one with all workloads."""
    return replace(request, quick=True), replace(request, workloads=[ALL])


def left_out(jobs: Iterable[Job], whole: Iterable[Job]) -> str:
    """What a quick campaign doesn't measure, in a sentence for its report."""
    there = {job.recipe.name for job in jobs}
    missing = [job.recipe.name for job in whole if job.recipe.name not in there]
    names = f"{words(missing)}, and " if missing else ""
    return f"A quick campaign leaves out {names}other numbers of threads: 'lockswap compare -w {ALL}' has them."


def lines(short: tuple[Request, list[Job]], whole: tuple[Request, list[Job]], typed: str) -> Iterator[str]:
    """`typed` is the command line so far; each command offered begins with it."""
    yield "nothing was run: name workloads with -w, or give a command after '--'"
    rows = [
        (f"{typed} --quick", _what(*short)),
        (f"{typed} -w {ALL}", _what(*whole)),
        (f"{typed} -w NAME", "one workload; 'lockswap list workloads' shows them"),
        (f"{typed} -- ./prog", "a program of your own"),
    ]
    yield from aligned(rows, None)


def _what(request: Request, jobs: list[Job]) -> str:
    runs = runs_of(jobs, request.rounds)
    locks = {lock for job in jobs for lock in job.locks if lock not in BASELINES}
    seconds = TimeEstimate(jobs).left(runs, [job.recipe for job in jobs for _ in job.locks])
    text = f"{plural(len(jobs), 'workload')}, {plural(len(locks), 'lock')}, {plural(sum(runs.values()), 'run')}"
    return text if seconds is None else f"{text}: about {plural(max(1, round(seconds / 60)), 'minute')}"
