"""How long runs take: first from what was asked for, then from what was seen."""

from collections.abc import Iterable, Mapping

from lockswap.campaign.job import Job
from lockswap.campaign.rounds import Key
from lockswap.recipes.recipe import Recipe

_START_S = 0.2  # what a run takes beside its seconds: 0.1 to 0.4 here


class TimeEstimate:
    """Foretells how long runs take.

    Of a program with a fixed amount of work whose recipe doesn't say it that is unknown (None) until it has run once.
    """

    def __init__(self, jobs: Iterable[Job]) -> None:
        self.jobs = {job.recipe.name: job for job in jobs}
        self.seen: dict[Key, list[float]] = {}
        self.seen_check: dict[str, list[float]] = {}
        self.spent = 0.0

    def expect(self, key: Key) -> float | None:
        """Seconds of a run."""
        job = self.jobs[key[0]]
        guess = job.recipe.guess_s(key[1], job.seconds, job.params)
        others = [time for other, times in self.seen.items() if other[0] == key[0] for time in times]
        if times := self.seen.get(key):
            return _mean(times)
        if others and (guess is None or not job.recipe.fixed_work):  # else it depends on the number of threads
            return _mean(others)
        return _mean(self.seen_check.get(key[0])) if guess is None else guess + _START_S

    def saw(self, key: Key, took: float) -> None:
        self.spent += took
        self.seen.setdefault(key, []).append(took)

    def check(self, recipe: Recipe) -> float | None:
        """Seconds of a run that counts what is taken."""
        if times := self.seen_check.get(recipe.name):
            return _mean(times)
        job, check = self.jobs[recipe.name], recipe.lock_check
        threads, seconds = (job.threads[0], job.seconds) if job.user_command else (check.threads, check.seconds)
        guess = recipe.guess_s(threads, seconds, {**job.params, **check.params})
        return None if guess is None else guess + _START_S

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
