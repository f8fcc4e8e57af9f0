"""What got better or worse between two profiles, by lock and by pair of holder and waiter.

Two runs seldom take as long or do as much. So waiting is compared twice: in each second, and in each acquisition. Only
what both say is called better or worse.
"""

import json
import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path

from lockswap.base.errors import UserError
from lockswap.profile.recording import SUFFIX

BETTER, WORSE, SAME, MIXED, FEW = "better", "worse", "the same", "can't tell", "too few waits"
_LEAST_CHANGE = 1.1  # times: less is the same
_LEAST_WAITS = 20  # on the side that has more of them
_LINE = re.compile(r":\d+$")


@dataclass(frozen=True)
class Measured:
    """A lock, or a pair of places, in one of the two runs."""

    wait_ns: int = 0
    waits: int = 0
    acquisitions: int = 0
    contended: int = 0
    most_wait_ns: int = 0
    mean_hold_ns: float | None = None


@dataclass(frozen=True)
class Run:
    """One side of the comparison."""

    where: str
    command: list[str]
    seconds: float | None
    locks: list[dict]
    left_out: int

    @property
    def acquisitions(self) -> int:
        return sum(lock["acquisitions"] for lock in self.locks)

    @property
    def wait_ns(self) -> int:
        return sum(lock["wait_ns"] for lock in self.locks)

    def whole(self) -> Measured:
        return Measured(self.wait_ns, sum(lock["contended"] for lock in self.locks), self.acquisitions)


@dataclass(frozen=True)
class Change:
    """before, after: None where it is not in that run."""

    before: Measured | None
    after: Measured | None
    verdict: str
    a_second: tuple[float, float] | None  # waiting, ns; None: a run's length is not known
    an_acquisition: tuple[float, float]  # the same; of a pair, of its lock's acquisitions

    @property
    def size(self) -> float:
        """By how much waiting changed, for the order of lines."""
        first, second = self.a_second or self.an_acquisition
        return abs(second - first)


@dataclass(frozen=True)
class PairChange:
    waiter: str
    holder: str
    change: Change


@dataclass(frozen=True)
class LockChange:
    kind: str
    name: str
    change: Change
    pairs: list[PairChange]


@dataclass(frozen=True)
class Difference:
    before: Run
    after: Run
    whole: Change
    locks: list[LockChange]  # the largest change first


def load(path: Path, recorded: Callable[[Path], dict]) -> Run:
    """recorded: the data of a folder, from what processes recorded there."""
    file = path / "profile.json" if path.is_dir() else path
    if path.is_dir() and _is_old(file):
        data = recorded(path)
    else:
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise UserError(f"{path}: {error.strerror}; name two folders that 'lockswap profile -o' wrote") from error
        except ValueError as error:
            raise UserError(f"{path}: it is not JSON; name two folders that 'lockswap profile -o' wrote") from error
    try:
        seconds = data["wall_s"] or data.get("recorded_s")
        left_out = sum(data["dropped"].get(name, 0) for name in ("objects", "tallies", "pairs"))
        run = Run(str(path), data["command"], seconds, data["locks"], left_out)
        assert run.acquisitions >= 0 <= run.wait_ns
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path}: it is not a profile; name two folders that 'lockswap profile -o' wrote") from error
    return run


def _is_old(file: Path) -> bool:
    """Processes have recorded there since it was written, or it was not."""
    if not file.exists():
        return True
    written = file.stat().st_mtime_ns
    return any(one.stat().st_mtime_ns > written for one in file.parent.glob(f"*{SUFFIX}"))


def compare(before: Run, after: Run) -> Difference:
    seconds = (before.seconds, after.seconds)
    locks = []
    for one, other in _matched(before.locks, after.locks, _lock_keys):
        change = _change(_lock(one), _lock(other), seconds)
        taken = tuple(lock["acquisitions"] if lock else 0 for lock in (one, other))
        pairs = [
            PairChange((second or first)["waiter"], (second or first)["holder"], _change_of_pair(pair, seconds, taken))
            for pair in _matched(_pairs(one), _pairs(other), _pair_keys)
            for first, second in [pair]
        ]
        shown = other or one
        locks.append(
            LockChange(shown["kind"], shown["name"], change, sorted(pairs, key=lambda pair: -pair.change.size))
        )
    whole = _change(before.whole(), after.whole(), seconds)
    return Difference(before, after, whole, sorted(locks, key=lambda lock: -lock.change.size))


def _matched(
    before: list[dict], after: list[dict], keys: Callable[[dict], tuple[Hashable, Hashable]]
) -> list[tuple[dict | None, dict | None]]:
    """By the exact key; what is left by the one without line numbers, which a change of the source moves, where that
    names a single one on each side."""
    found: list[tuple[dict | None, dict | None]] = []
    exact = {keys(one)[0]: one for one in after}
    rest = []
    for one in before:
        other = exact.pop(keys(one)[0], None)
        if other is None:
            rest.append(one)
        else:
            found.append((one, other))
    left = list(exact.values())
    for one in rest:
        loose = keys(one)[1]
        same = [other for other in left if keys(other)[1] == loose]
        if len(same) == 1 and sum(keys(other)[1] == loose for other in rest) == 1:
            left.remove(same[0])
            found.append((one, same[0]))
        else:
            found.append((one, None))
    return [*found, *((None, other) for other in left)]


def _without_line(place: str) -> str:
    return _LINE.sub("", place)


def _lock_keys(lock: dict) -> tuple[Hashable, Hashable]:
    return (lock["kind"], lock["name"]), (lock["kind"], _without_line(lock["name"]))


def _pair_keys(pair: dict) -> tuple[Hashable, Hashable]:
    modes = (pair["waiter_mode"], pair["holder_mode"])
    places = (pair["waiter"], pair["holder"])
    return (modes, places), (modes, tuple(map(_without_line, places)))


def _lock(lock: dict | None) -> Measured | None:
    if lock is None:
        return None
    modes = lock["modes"].values()
    timed = sum(mode["timed_holds"] for mode in modes)
    return Measured(
        lock["wait_ns"],
        lock["contended"],
        lock["acquisitions"],
        lock["contended"],
        max([0, *(quantiles["max"] for mode in modes if (quantiles := mode["wait_quantiles_ns"]))]),
        sum(mode["hold_ns_of_timed"] for mode in modes) / timed if timed else None,
    )


def _pairs(lock: dict | None) -> list[dict]:
    """Pairs of places, of whichever stacks."""
    merged: dict[tuple, dict] = {}
    for pair in lock["pairs"] if lock else []:
        sides = {
            "waiter": pair["waiter"]["site"],
            "holder": pair["holder"]["site"],
            "waiter_mode": pair["waiter"]["mode"],
            "holder_mode": pair["holder"]["mode"],
        }
        one = merged.setdefault(tuple(sides.values()), sides | {"waits": 0, "wait_ns": 0, "most_ns": 0})
        one["waits"] += pair["waits"]
        one["wait_ns"] += pair["wait_ns"]
        one["most_ns"] = max(one["most_ns"], pair["most_ns"])
    return list(merged.values())


def _change_of_pair(
    pair: tuple[dict | None, dict | None], seconds: tuple[float | None, float | None], taken: tuple[int, ...]
) -> Change:
    sides = [
        one and Measured(one["wait_ns"], one["waits"], acquisitions, 0, one["most_ns"])
        for one, acquisitions in zip(pair, taken, strict=True)
    ]
    return _change(*sides, seconds)


def _change(before: Measured | None, after: Measured | None, seconds: tuple[float | None, float | None]) -> Change:
    first, second = (one or Measured() for one in (before, after))
    a_second = None
    if seconds[0] and seconds[1]:
        a_second = (first.wait_ns / seconds[0], second.wait_ns / seconds[1])
    an_acquisition = tuple(one.wait_ns / one.acquisitions if one.acquisitions else 0.0 for one in (first, second))
    return Change(
        before, after, _verdict(max(first.waits, second.waits), a_second, an_acquisition), a_second, an_acquisition
    )


def _verdict(waits: int, a_second: tuple[float, float] | None, an_acquisition: tuple[float, float]) -> str:
    if waits < _LEAST_WAITS:
        return FEW
    said = {_direction(*one) for one in (a_second, an_acquisition) if one is not None}
    return said.pop() if len(said) == 1 else MIXED


def _direction(before: float, after: float) -> str:
    if after > before * _LEAST_CHANGE:
        return WORSE
    return BETTER if after * _LEAST_CHANGE < before else SAME
