"""How long runs take: first from what was asked for, then from what was seen."""

from collections.abc import Iterable, Mapping

from lockswap.campaign.job import Job
from lockswap.campaign.rounds import Key
from lockswap.recipes.recipe import Recipe

_START_S = 0.5  # what a run takes beside its seconds


class TimeEstimate:
    """Foretells how long runs take. A program with a fixed amount of work is unknown (None) until it has run once."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self.jobs = {job.recipe.name: job for job in jobs}
        self.seen: dict[Key, list[float]] = {}
        self.seen_check: dict[str, list[float]] = {}
        self.spent = 0.0

    def expect(self, key: Key) -> float | None:
        """Seconds of a run."""
        others = [time for other, times in self.seen.items() if other[0] == key[0] for time in times]
        for times in (self.seen.get(key), others):
            if times:
                return sum(times) / len(times)
        job = self.jobs[key[0]]
        if job.recipe.fixed_work:
            return _mean(self.seen_check.get(key[0]))
        return job.seconds + _START_S

    def saw(self, key: Key, took: float) -> None:
        self.spent += took
        self.seen.setdefault(key, []).append(took)

    def check(self, recipe: Recipe) -> float | None:
        """Seconds of a run that counts what is taken."""
        seen = _mean(self.seen_check.get(recipe.name))
        if seen is not None or recipe.fixed_work:
            return seen
        job = self.jobs[recipe.name]
        return (job.seconds if job.user_command else recipe.lock_check.seconds) + _START_S

    def saw_check(self, recipe: Recipe, took: float) -> None:
        self.seen_check.setdefault(recipe.name, []).append(took)

    def left(self, runs: Mapping[Key, float], checks: Iterable[Recipe] = ()) -> float | None:
        """Seconds for so many runs of each key, and these checks; None if it cannot be said yet."""
        times = [(self.expect(key), count) for key, count in runs.items() if count]
        times += [(self.check(recipe), 1) for recipe in checks]
        if any(time is None for time, _ in times):
            return None
        return sum(time * count for time, count in times)


def _mean(times: list[float] | None) -> float | None:
    return sum(times) / len(times) if times else None
