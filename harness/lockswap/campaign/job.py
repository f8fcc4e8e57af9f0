"""A job: a workload with what the command line chose for it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from lockswap.base.choice import BASELINES, PTHREAD, RANGE, Choice
from lockswap.recipes.recipe import Recipe
from lockswap.recipes.server import Server
from lockswap.records.scrub import from_here
from lockswap.run import cpus


@dataclass(frozen=True)
class Job:
    """A workload with what the command line chose for it."""

    recipe: Recipe
    threads: tuple[int, ...]
    seconds: int
    params: Mapping[str, Any]
    versus: tuple[str, ...] = ()  # the other command, for choices that say so
    user_command: bool = False  # the user's command: runs in the current folder
    locks: tuple[str, ...] = BASELINES[:2]  # labels, see choice.py; the baselines first
    against: str = PTHREAD  # that of the ratios

    def recipe_under(self, lock: str) -> Recipe:
        """With the command that runs under this choice."""
        return replace(self.recipe, command=self.versus) if Choice.of(lock).versus else self.recipe

    def params_under(self, lock: str) -> Mapping[str, Any]:
        """With the peer, if the choice is one."""
        peer = Choice.of(lock).peer
        return {**self.params, self.recipe.peer_param: peer} if peer else self.params

    def kinds(self, lock: str) -> frozenset[str]:
        """Kinds of locks that the workload takes and that are under test with this choice."""
        kinds = Choice.of(lock).tested
        if lock == PTHREAD:
            kinds |= {RANGE}  # which have no pass-through of their own
        return kinds & set(self.recipe.takes)

    def describe(self) -> dict[str, Any]:
        """What the report needs to know, so that it needs no recipe."""
        recipe = self.recipe
        return {
            "name": recipe.name,
            "title": recipe.title,
            "source": recipe.source,
            "measures": recipe.measures,
            "note": recipe.note,
            "command": [from_here(word) for word in recipe.command],
            "params": dict(self.params),
            "threads": list(self.threads),
            "threads_label": recipe.threads_label,
            "seconds": self.seconds,
            "fixed_work": recipe.fixed_work,
            "own": self.user_command,
            "takes": list(recipe.takes),
            "locks": list(self.locks),
            "against": self.against,
            **({"versus": [from_here(word) for word in self.versus]} if self.versus else {}),
            **({"server": _describe(recipe.server)} if recipe.server else {}),
            "metric": [
                {key: value for key, value in asdict(metric).items() if value is not None} for metric in recipe.metrics
            ],
        }


def _describe(server: Server) -> dict[str, Any]:
    return asdict(server) | {"command": [from_here(word) for word in server.command]}


def quick_count(threads: tuple[int, ...]) -> tuple[int]:
    """For --quick: the largest up to four times as many as there are CPUs."""
    usable = len(cpus.cpus())
    return (max((count for count in threads if count <= 4 * usable), default=min(threads)),)
