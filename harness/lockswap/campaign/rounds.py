"""Rounds: which runs a campaign makes, in which order, and when there are enough of them.

Every decision follows from the seed and from what was measured, so an interrupted campaign goes on as it would have.
Whether there are enough depends on how wide the intervals are, never on what they say.
"""

import math
import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

from lockswap.base.choice import NONE
from lockswap.records.row import Row

Key = tuple[str, int]  # workload, thread count: what is measured side by side


class Turn(NamedTuple):
    round: int
    workload: str
    threads: int
    lock: str
    second_run: int = 0  # 1: the second run of the round without lockswap, for the noise floor

    @property
    def key(self) -> Key:
        return self.workload, self.threads


def turns(number: int, key: Key, locks: list[str], seed: int) -> list[Turn]:
    """One round of a workload and thread count: every lock, and the program as it is twice, in an order drawn anew."""
    dice = random.Random(f"{seed} {number} {key[0]} {key[1]}")
    entries = [(lock, 0) for lock in locks] + [(NONE, 1)] * (NONE in locks)
    return [Turn(number, *key, lock, second_run) for lock, second_run in dice.sample(entries, len(entries))]


class Rounds:
    """The turns that are still to be taken. Every row that comes of them goes to add(). `keys` has each one's locks.

    Each key takes `least` rounds at any rate. Then, with `until`, it takes more until its width() is at most that; keys
    that are there take no more turns.
    """

    def __init__(
        self,
        keys: dict[Key, list[str]],
        seed: int,
        least: int,
        until: float | None,
        width: Callable[[Key, list[Row]], float],
    ) -> None:
        self.keys = keys
        self.seed = seed
        self.least = least
        self.until = until
        self._width = width
        self._rows: dict[Key, list[Row]] = {key: [] for key in keys}
        self._made: set[Turn] = set()
        self._settled: set[Key] = set()
        self._guess: dict[Key, tuple[int, float]] = {}  # from so many rows, so wide

    def add(self, row: Row) -> None:
        turn = Turn(row.round, row.workload, row.threads, row.lock, row.second_run)
        self._made.add(turn)
        self._rows[turn.key].append(row)

    def __iter__(self) -> Iterator[Turn]:
        number = 0
        while True:
            number += 1
            wanted = [key for key in self.keys if self._wants(key, number)]
            if not wanted:
                return
            for key in wanted:
                yield from (turn for turn in turns(number, key, self.keys[key], self.seed) if turn not in self._made)

    def _wants(self, key: Key, number: int) -> bool:
        if number <= self.least:
            return True
        if self.until is None or key in self._settled:
            return False
        # Only earlier rounds: a resumed campaign may know of later rows, and must decide as it did then.
        if self._width(key, [row for row in self._rows[key] if row.round < number]) <= self.until:
            self._settled.add(key)
            return False
        return True

    def left(self) -> dict[Key, int]:
        """How many turns each key will still take; with `until` a guess, from how intervals shrink with the rounds."""
        return {
            key: max(0, self._rounds(key) * (len(locks) + 1) - len(self._rows[key])) for key, locks in self.keys.items()
        }

    def _rounds(self, key: Key) -> int:
        made = max((row.round for row in self._rows[key]), default=0)
        if self.until is None or made < self.least:
            return self.least
        if key in self._settled:
            return made
        known = len(self._rows[key])
        if self._guess.get(key, (0, 0.0))[0] != known:
            self._guess[key] = known, self._width(key, self._rows[key])
        width = self._guess[key][1]
        if width == math.inf:
            return made + self.least
        return max(made, math.ceil(made * (width / self.until) ** 2))
