"""Runs of the program with one lock's holds longer, or with the same time behind them."""

import re

from lockswap.advise.trial import Timed, Trial
from lockswap.whatif.delayed import Delayed

# The greater delay, of all holds together: so much of a run's time. The smaller one is half of it.
_SHARE = 0.5
# A shorter delay is not exact; a longer one is refused by the library.
_LEAST_NS, _MOST_NS = 100, 1_000_000_000
_COUNTED = re.compile(r"LOCKSWAP_DELAY: ([0-9]+) delays of ")


def run(trial: Trial, lock: Delayed, ns: int, after: bool = False) -> Timed:
    value = f"{lock.rule}:{'after' if after else ''}+{ns}ns"
    return trial.run(more={"LOCKSWAP_DELAY": value, "LOCKSWAP_VERBOSE": "1"})


def delays_of(ran: Timed) -> int:
    """The number of delays in all processes that came to their exit."""
    return sum(int(found[1]) for line in ran.said if (found := _COUNTED.search(line)))


def choose_delays(trial: Trial, lock: Delayed, wall_s: float, most_ns: int | None) -> None:
    """By a run that counts holds. No holds: the rule catches none, or the program comes to no exit."""
    lock.holds = delays_of(run(trial, lock, 0))
    if lock.holds:
        most = int(1e9 * _SHARE * wall_s / lock.holds) if most_ns is None else most_ns
        most = min(max(most, 2 * _LEAST_NS), _MOST_NS)
        lock.delays_ns = (most // 2, most)


def one_round(trial: Trial, lock: Delayed, number: int) -> None:
    """Each delay inside and behind; the order is another one each time, so that what drifts falls on all."""
    arms = [(ns, after) for ns in lock.delays_ns for after in (False, True)]
    first = number % len(arms)
    found = {arm: run(trial, lock, *arm).value for arm in [*arms[first:], *arms[:first]]}
    lock.inside.append(tuple(found[ns, False] for ns in lock.delays_ns))
    lock.behind.append(tuple(found[ns, True] for ns in lock.delays_ns))
