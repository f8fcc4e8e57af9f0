"""The jobs of a campaign: which workloads run, and under which locks each of them runs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from lockswap.base.choice import (
    MUTEX,
    NONE,
    NONE_VERSUS,
    PTHREAD,
    RWLOCK,
    Choice,
    baseline,
    kinds_of,
    peer_label,
    with_baselines,
)
from lockswap.base.errors import UserError
from lockswap.base.nearest import unknown
from lockswap.base.paths import Paths
from lockswap.base.registry import Registry
from lockswap.base.selection import named, parse, range_labels, with_conds
from lockswap.campaign.job import Job, quick_count
from lockswap.campaign.request import Request
from lockswap.campaign.scan import Scan
from lockswap.campaign.user_command import user_job
from lockswap.policy import arms
from lockswap.recipes import reader
from lockswap.recipes.recipe import Recipe

# For the report.
PEERS = "peer:NAME is the workload built with another library's lock and run without lockswap: to use it is to rebuild."


@dataclass(frozen=True)
class Choices:
    """What is compared: what was named, or else by what a workload takes. All are labels."""

    named: list[str] | None  # None: nothing was
    rwlocks: list[str]
    mutexes: list[str]
    against: Choice | None
    scan: Scan
    peers: list[str] | None  # names; None: all that a workload has

    @classmethod
    def of(cls, registry: Registry, request: Request, policies: Mapping[str, Path]) -> "Choices":
        against = parse(registry, request.against) if request.against else None
        scan = Scan.parse(registry, request.scan, request.wait)
        peers = request.peers or None
        labels = []
        if request.locks or request.mutexes or request.pairs:
            labels = named(registry, request.locks, request.mutexes, request.pairs)
        labels += range_labels(registry, request.ranges)
        labels += [with_conds(Choice(PTHREAD, PTHREAD), cond).label for cond in request.conds]
        labels += [arms.label(name, file) for name, file in policies.items()]
        if labels or request.locks or request.mutexes or request.ranges:
            return cls(scan.labels(labels), [], [], against, scan, peers)
        rwlocks = named(registry, registry.default_rwlocks, [])
        mutexes = named(registry, [], registry.default_mutexes)
        return cls(None, scan.labels(rwlocks), scan.labels(mutexes), against, scan, peers)

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds of locks that the campaign is about."""
        return kinds_of(self.named or []) or frozenset((RWLOCK, MUTEX))

    def given_to(self, job: Job) -> list[Job]:
        """The job under its locks; several, if a variable of the program is scanned."""
        return self.scan.jobs(self.with_locks(job))

    def with_locks(self, job: Job) -> Job:
        if job.versus and self.named is None:  # the two commands as they are
            return replace(job, locks=(NONE, NONE_VERSUS), against=NONE)
        takes = job.recipe.takes
        labels, against = self.named, self.against
        if labels is None:
            labels = self.mutexes if takes[0] == MUTEX else self.rwlocks
            if against and against.kinds and not against.kinds & set(takes):
                against = None
        if against and (against.label == PTHREAD or (against.peer and against.peer not in job.recipe.peers)):
            against = None  # whatever glibc's own is called here
        locks = with_baselines(labels, against and against.label)
        locks += [label for label in map(peer_label, self._peers_of(job.recipe)) if label not in locks]
        if job.versus:
            locks = list(dict.fromkeys([*locks, *(replace(Choice.of(lock), versus=True).label for lock in locks)]))
        return replace(job, locks=tuple(locks), against=against.label if against else baseline(locks))

    def _peers_of(self, recipe: Recipe) -> list[str]:
        return [name for name in recipe.peers if self.peers is None or name in self.peers]

    def check_peers(self, recipes: Iterable[Recipe]) -> None:
        """A peer that was named, or is the baseline, is one of some workload's."""
        there = dict.fromkeys(name for recipe in recipes for name in recipe.peers)
        asked = [*(self.peers or []), *([self.against.peer] if self.against and self.against.peer else [])]
        for name in asked:
            if not there:
                raise UserError(f"peer '{name}': the workloads that are compared have no peers; name one with -w")
            if name not in there:
                raise unknown("peer", name, list(there), "lockswap list WORKLOAD")


def plan_jobs(paths: Paths, request: Request, choices: Choices) -> tuple[list[Job], list[str]]:
    of_user = user_job(request)
    if of_user:
        choices.check_peers([])
        jobs, hints = of_user
        return [one for job in jobs for one in choices.given_to(job)], hints
    recipes = reader.load_all(paths.recipes, paths.structure_recipes)
    chosen = reader.choose(recipes, request.workloads, request.quick, choices.kinds)
    if not chosen:
        raise UserError("no workload of a campaign takes such locks: name one with -w, or give a command after '--'")
    choices.check_peers(chosen)
    hints = [PEERS] if any(recipe.peers for recipe in chosen) else []
    return [job for recipe in chosen for job in choices.given_to(_job(recipe, request))], hints


def _job(recipe: Recipe, request: Request) -> Job:
    threads = tuple(request.threads or recipe.threads)
    if request.quick and not request.threads:
        threads = quick_count(threads)
    seconds = request.seconds or (max(1, recipe.seconds // 2) if request.quick else recipe.seconds)
    params = {**recipe.params, **(recipe.quick_params if request.quick else {})}
    return Job(recipe, threads, seconds, params)
