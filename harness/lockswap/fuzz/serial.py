"""One thread at a time: the length of a run, what made it fail, and the shortest order found that still does."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lockswap.base.text import plural
from lockswap.fuzz import steps
from lockswap.fuzz.outcome import Outcome
from lockswap.fuzz.steps import Turn

_MOST_RUNS = 60  # to shorten an order

# Runs with these words of LOCKSWAP_FUZZ; whether places are worth their time.
Once = Callable[[int, list[str], bool], Outcome]


@dataclass
class Serial:
    log: Path
    schedule: Path
    once: Once
    fails: Callable[[Outcome], str | None]
    length: int = 1

    def words(self) -> list[str]:
        return ["serial", f"length={self.length}", f"steps={self.log}"]

    def play(self, turns: list[Turn], with_places: bool = False) -> Outcome:
        """The order of these turns; without any, the oldest thread that can run does."""
        self.schedule.write_text(steps.as_schedule(turns))
        return self.once(0, [*self.words(), f"schedule={self.schedule}"], with_places)

    def measure(self) -> Outcome:
        """The length comes of an order that is always the same, so that a seed means the same again."""
        seen = self.play([])
        self.length = max(1, len(steps.read(self.log).steps))
        return seen

    def explain(self, turns: list[Turn], wrong: str, again: int) -> dict:
        """How the order of the last run can be shorter; `wrong`: what is wrong with it."""
        first = steps.read(self.log)

        def still(fewer: list[Turn]) -> bool:
            return _kind(self.fails(self.play(fewer))) == _kind(wrong)

        found: dict = {"by_time": first.by_time, "turns": len(turns)}
        if first.is_whole and still(turns):
            turns = steps.shortened(turns, still, _MOST_RUNS)
            found["fails_again"] = sum(still(turns) for _ in range(again))
            found["of"] = again
            found["schedule"] = turns
            self.play(turns)
        else:
            found["schedule"] = None
        found["steps"] = steps.as_text(steps.read(self.log) if found["schedule"] is not None else first)
        return found


def as_text(order: dict) -> list[str]:
    lines = [f"  {line}" for line in order["steps"]]
    if order["by_time"]:
        times = "once" if order["by_time"] == 1 else f"{order['by_time']} times"
        why = f"{times} a thread that slept or computed lost its turn"
        lines.append(f"lockswap fuzz: the order can't be repeated for certain: {why}")
    if order["schedule"] is None:
        return ["lockswap fuzz: the steps of that run, which does not fail when they are played again:", *lines]
    turns, left = order["turns"], len(order["schedule"])
    fewer = f"{plural(turns, 'turn')} shortened to {left}" if left < turns else plural(turns, "turn")
    # Without turns each thread runs until it waits, as the line above says.
    which = f"this order, {fewer}," if turns else "this order"
    lines.append(f"lockswap fuzz: {which} fails in {order['fails_again']} of {order['of']} more runs")
    return ["lockswap fuzz: an order that fails:", *lines]


def _kind(wrong: str | None) -> str:
    """A hang is one however it was seen."""
    return (wrong or "").split(":")[0]
