"""`lockswap whatif`: make the holds of one lock at a time longer, and say what the program pays for it."""

import json
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from lockswap.advise.subject import Command
from lockswap.advise.trial import Metric, Trial
from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.findings import stats
from lockswap.profile import recording, summary
from lockswap.profile.summary import EXCLUSIVE, SHARED
from lockswap.run import extra_preload
from lockswap.whatif import ranking, runs
from lockswap.whatif.delayed import Delayed

_MOST_ROUNDS = 40
# As lockswap.advise.candidates has it: what a lock's cache line may cost, which only chooses what is tried.
_LINE_NS = 60
_OF_MODE = {"read": " mode=read", "write": " mode=write", "both": ""}
_MODES = {"read": (SHARED,), "write": (EXCLUSIVE,), "both": (SHARED, EXCLUSIVE)}


@dataclass(frozen=True)
class Request:
    command: list[str]
    metric: str | None
    lower_is_better: bool
    names: tuple[str, ...]  # of --lock
    mode: str
    top: int
    delay_us: float | None
    budget: float
    as_json: bool
    preload_first: tuple[str, ...] = ()


def run(paths: Paths, request: Request) -> int:
    """Prints the ranking on stdout."""
    metric = Metric.asked_for(request.metric, request.lower_is_better)
    trial = Trial(paths.library, Command(request.command), metric, extra_preload.first(request.preload_first))
    end = time.monotonic() + request.budget
    plain = trial.run()
    _say(f"a run takes {plain.wall_s:.2f} s")
    locks = _of_profile(paths, trial, request)
    if not locks:
        kinds = " reader-writer" if request.mode != "both" else ""
        print(f"Nothing to delay: two threads take no{kinds} lock in a variable or from a place that is in a file.")
        return 0
    most_ns = None if request.delay_us is None else int(1000 * request.delay_us)
    for one in locks:
        runs.choose_delays(trial, one, plain.wall_s, most_ns)
    tried, missed = [one for one in locks if one.holds], [one for one in locks if not one.holds]
    base = _rounds(trial, tried, end) if tried else [plain.value]
    ranks = ranking.rank(tried, base, metric)
    if request.as_json:
        print(json.dumps(ranking.as_data(ranks, missed, base, metric), indent=2))
    else:
        print(ranking.shown(ranks, missed, base, metric))
    return 0


def _of_profile(paths: Paths, trial: Trial, request: Request) -> list[Delayed]:
    """Those that may matter most: by the time waited for them, and by their cache line."""
    with tempfile.TemporaryDirectory(prefix="lockswap-profile-") as folder:
        ran = trial.run(more={"LOCKSWAP_PROFILE": folder})
        files = sorted(Path(folder).glob(f"*{recording.SUFFIX}"))
        found = summary.summarise(recording.read(paths.profile_reader, files), None)
    _say(f"with the profile it took {ran.wall_s:.2f} s")
    locks = found.locks
    if request.names:
        locks = [lock for lock in locks if any(name in f"{lock.kind} {lock.name}" for name in request.names)]
        if not locks:
            known = ", ".join(f"{lock.kind} {lock.name}" for lock in found.locks[:10]) or "none"
            raise UserError(f"--lock '{request.names[0]}': no lock has that in its name; the profile found: {known}")
    return chosen(locks, request.top, request.mode)


def chosen(locks: list[summary.Lock], top: int, mode: str) -> list[Delayed]:
    by_rule: dict[str, Delayed] = {}
    for lock in sorted(locks, key=lambda lock: -(lock.wait_ns + _LINE_NS * lock.acquisitions)):
        # Nobody waits for the holds of a lock that one thread takes.
        if not lock.rule or lock.threads < 2 or (mode != "both" and lock.kind != "rwlock"):
            continue
        rule = f"{lock.rule} kind={lock.kind}{_OF_MODE[mode]}"
        if rule in by_rule:
            by_rule[rule].title += f" and {lock.name}"
        elif len(by_rule) < top and (hold_us := _hold_us(lock, mode)) > 0:
            by_rule[rule] = Delayed(f"{lock.kind} {lock.name}", rule, hold_us)
    return list(by_rule.values())


def _hold_us(lock: summary.Lock, mode: str) -> float:
    """The mean of all holds, by those of each mode that were timed."""
    modes = [lock.modes[one] for one in _MODES[mode]]
    total = sum(one.hold_ns / one.timed_holds * one.acquisitions for one in modes if one.timed_holds)
    return total / 1000 / max(1, sum(one.acquisitions for one in modes if one.timed_holds))


def _rounds(trial: Trial, locks: list[Delayed], end: float) -> list[float]:
    """Returns what runs without a delay came to, one a round."""
    for one in locks:
        least, most = (f"{ns / 1000:.3g}" for ns in one.delays_ns)
        _say(f"{one.title}: {one.holds:,} holds, each to be {least} and {most} us longer")
    base: list[float] = []
    for number in range(_MOST_ROUNDS):
        if number >= stats.MIN_PAIRS and (time.monotonic() >= end or _is_clear(locks, trial.metric)):
            break
        base.append(runs.run(trial, locks[0], 0).value)
        first = number % len(locks)
        for one in [*locks[first:], *locks[:first]]:
            runs.one_round(trial, one, number)
    _say(f"{len(base)} rounds of {1 + 4 * len(locks)} runs")
    return base


def _is_clear(locks: list[Delayed], metric: Metric) -> bool:
    """All are apart from one another; of a single one it is known whether it costs anything."""
    found = sorted((one.matters(metric.higher_is_better) for one in locks), key=lambda shift: -shift.estimate)
    if len(found) == 1:
        return found[0].low > 0 or found[0].high < 0
    return all(one.is_apart_from(other) for one, other in pairwise(found))


def _say(line: str) -> None:
    print(f"lockswap whatif: {line}", file=sys.stderr, flush=True)
