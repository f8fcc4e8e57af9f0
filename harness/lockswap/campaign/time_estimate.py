"""How long runs take: first from what was asked for, then from what was seen."""

from collections.abc import Iterable

from lockswap.campaign.job import Job
from lockswap.campaign.rounds import Key
from lockswap.recipes.recipe import Recipe


class TimeEstimate:
    """Foretells how long runs take: first from what was asked for, then from what was seen."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self.jobs = {job.recipe.name: job for job in jobs}
        self.seen: dict[Key, list[float]] = {}
        self.seen_check: dict[str, list[float]] = {}
        self.spent = 0.0

    def expect(self, key: Key) -> float:
        times = self.seen.get(key)
        if times:
            return sum(times) / len(times)
        others = [time for other, times in self.seen.items() if other[0] == key[0] for time in times]
        if others:
            return sum(others) / len(others)
        job = self.jobs[key[0]]
        if job.recipe.fixed_work:
            checks = self.seen_check.get(key[0])
            return sum(checks) / len(checks) if checks else 3.0
        return job.seconds + 0.5

    def saw(self, key: Key, took: float) -> None:
        self.spent += took
        self.seen.setdefault(key, []).append(took)

    def check(self, recipe: Recipe) -> float:
        times = self.seen_check.get(recipe.name)
        return sum(times) / len(times) if times else recipe.lock_check.seconds + 0.5

    def saw_check(self, recipe: Recipe, took: float) -> None:
        self.seen_check.setdefault(recipe.name, []).append(took)
