"""The jobs of a campaign: which workloads run, and under which locks each of them runs."""

from dataclasses import dataclass, replace

from lockswap.base.choice import MUTEX, PTHREAD, RWLOCK, Choice, baseline, kinds_of, with_baselines
from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.base.registry import Registry
from lockswap.base.selection import named, parse, range_labels
from lockswap.campaign.job import Job, few
from lockswap.campaign.request import Request
from lockswap.campaign.user_command import user_job
from lockswap.recipes import reader
from lockswap.recipes.recipe import Recipe


@dataclass(frozen=True)
class Choices:
    """What is compared: what was named, or else by what a workload takes. All are labels."""

    named: list[str] | None  # None: nothing was
    rwlocks: list[str]
    mutexes: list[str]
    against: Choice | None

    @classmethod
    def of(cls, registry: Registry, request: Request) -> "Choices":
        against = parse(registry, request.against) if request.against else None
        if not request.locks and not request.mutexes and not request.ranges:
            rwlocks = named(registry, registry.default_rwlocks, [])
            return cls(None, rwlocks, named(registry, [], registry.default_mutexes), against)
        labels = []
        if request.locks or request.mutexes or request.pairs:
            labels = named(registry, request.locks, request.mutexes, request.pairs)
        return cls([*labels, *range_labels(registry, request.ranges)], [], [], against)

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds of locks that the campaign is about."""
        return kinds_of(self.named or []) or frozenset((RWLOCK, MUTEX))

    def given_to(self, job: Job) -> Job:
        takes = job.recipe.takes
        labels, against = self.named, self.against
        if labels is None:
            labels = self.mutexes if takes[0] == MUTEX else self.rwlocks
            if against and against.kinds and not against.kinds & set(takes):
                against = None
        if against and against.label == PTHREAD:
            against = None  # whatever glibc's own is called here
        locks = with_baselines(labels, against and against.label)
        return replace(job, locks=tuple(locks), against=against.label if against else baseline(locks))


def plan_jobs(paths: Paths, request: Request, choices: Choices) -> tuple[list[Job], list[str]]:
    of_user = user_job(request)
    if of_user:
        jobs, hints = of_user
        return [choices.given_to(job) for job in jobs], hints
    chosen = reader.choose(reader.load_all(paths.recipes), request.workloads, request.quick, choices.kinds)
    if not chosen:
        raise UserError("there is no workload to run: apps/recipes has none, and no command follows '--'")
    return [choices.given_to(_job(recipe, request)) for recipe in chosen], []


def _job(recipe: Recipe, request: Request) -> Job:
    threads = tuple(request.threads or recipe.threads)
    if request.quick and not request.threads:
        threads = few(threads)
    seconds = request.seconds or (max(1, recipe.seconds // 2) if request.quick else recipe.seconds)
    params = {**recipe.params, **(recipe.quick_params if request.quick else {})}
    return Job(recipe, threads, seconds, params)
