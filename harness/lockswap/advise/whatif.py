"""`lockswap whatif`: what a program pays for each microsecond that one of its locks is held longer."""

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lockswap.advise.trial import Arm, Metric, Trial, metric_of, profile_of
from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.findings import stats
from lockswap.profile.summary import Lock, Profile

_MOST_ROUNDS = 40
# All delays of a run together: this part of what the lock's threads could do in it. Less would drown in noise, much
# more would measure another program.
_LOAD = 0.3
# Of a delay, in nanoseconds: below the first a look at the clock is all, above the second it is a sleep of the program.
_LEAST_NS, _MOST_NS = 100, 10_000_000
# Steps of the regression, in parts of the longest delay.
_STEPS = (0.5, 1.0)
_HELD, _FREE = "held", "free"


@dataclass
class Probed:
    """A lock, its delays and the runs under them: by where the delay is, and by its length in nanoseconds."""

    lock: Lock
    longest_ns: int
    arms: dict[tuple[str, int], Arm]

    @classmethod
    def of(cls, lock: Lock, wall_s: float, processors: int) -> "Probed":
        could_ns = 1e9 * wall_s * min(lock.threads, processors)
        longest = round(min(max(_LOAD * could_ns / max(lock.acquisitions, 1), _LEAST_NS), _MOST_NS))
        delays = [max(1, round(longest * step)) for step in _STEPS]
        arms = {
            (where, ns): Arm(f"{where} {ns}", [f"{lock.rule} {lock.kind}=pthread delay={where}:{ns}ns"])
            for where in (_HELD, _FREE)
            for ns in delays
        }
        return cls(lock, longest, arms)

    @property
    def title(self) -> str:
        return f"{self.lock.kind} {self.lock.name}"

    def cost(self, where: str, baseline: Sequence[float], metric: Metric) -> stats.Middle:
        """Of a microsecond there, as a part of the run's time."""
        return stats.middle_of(self._slopes(where, baseline, metric))

    def price(self, baseline: Sequence[float], metric: Metric) -> stats.Middle:
        """What a microsecond costs because the lock is held meanwhile."""
        held, free = (self._slopes(where, baseline, metric) for where in (_HELD, _FREE))
        return stats.middle_of([a - b for a, b in zip(held, free, strict=True)])

    def _slopes(self, where: str, baseline: Sequence[float], metric: Metric) -> list[float]:
        """By rounds: the slope of the least squares through the run without a delay and those with one."""
        points = [(ns / 1000, arm.values) for (at, ns), arm in self.arms.items() if at == where]
        return [
            slope([(0.0, 1.0), *((us, slower(values[n], baseline[n], metric)) for us, values in points)])
            for n in range(len(baseline))
        ]


def slower(value: float, base: float, metric: Metric) -> float:
    """How many times as long the same work takes."""
    if value <= 0 or base <= 0:
        raise UserError("--metric: a run printed 0 or less; whatif needs a figure that stays above 0")
    return base / value if metric.higher_is_better else value / base


def slope(points: Sequence[tuple[float, float]]) -> float:
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)


def run(
    paths: Paths,
    command: list[str],
    pattern: str | None,
    lower_is_better: bool,
    budget_s: float,
    most_locks: int,
    json_to: Path | None,
) -> int:
    trial = Trial(paths.library, command, metric_of(pattern, lower_is_better))
    end = time.monotonic() + budget_s
    plain = trial.run()
    _say(f"on glibc's locks a run takes {plain.wall_s:.2f} s")
    profile, _ = profile_of(paths, trial)
    processors = len(os.sched_getaffinity(0))
    probed = [Probed.of(lock, plain.wall_s, processors) for lock in chosen(profile, most_locks)]
    if not probed:
        print("No lock is taken by two threads or more and lies where a rule can name it, so none can be probed.")
        return 0
    for one in probed:
        _say(f"{one.title}: {one.lock.acquisitions:,} acquisitions; delays of up to {one.longest_ns / 1000:.3g} us")
    # The library does as much in it as in the others: a rule that is met, and adds nothing.
    baseline = Arm("no delay", [f"{one.lock.rule} {one.lock.kind}=pthread delay=held:0ns" for one in probed])
    arms = [baseline, *(arm for one in probed for arm in one.arms.values())]
    for number in range(_MOST_ROUNDS):
        if time.monotonic() >= end and number >= stats.MIN_PAIRS:
            break
        trial.round(arms, number)
    findings = [_finding(one, baseline.values, trial.metric) for one in probed]
    findings.sort(key=lambda finding: -finding["price"]["estimate"])
    print(table(findings, trial.metric, len(baseline.values)))
    if json_to is not None:
        made = {"metric": trial.metric.name, "rounds": len(baseline.values), "locks": findings}
        json_to.write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
    return 0


def chosen(profile: Profile, most: int) -> list[Lock]:
    """Those whose holds and waits take longest, among locks that several threads take and that a rule can name."""
    able = [lock for lock in profile.locks if lock.rule and lock.threads >= 2 and lock.acquisitions]
    return sorted(able, key=lambda lock: -weight(lock))[:most]


def weight(lock: Lock) -> float:
    return lock.wait_ns + sum(mode.hold_ns for mode in lock.modes.values()) + 50 * lock.acquisitions


def _finding(one: Probed, baseline: Sequence[float], metric: Metric) -> dict:
    middles = {
        "held": one.cost(_HELD, baseline, metric),
        "beside": one.cost(_FREE, baseline, metric),
        "price": one.price(baseline, metric),
    }
    return {
        "kind": one.lock.kind,
        "name": one.lock.name,
        "rule": one.lock.rule,
        "acquisitions": one.lock.acquisitions,
        "longest_delay_ns": one.longest_ns,
    } | {name: {"estimate": m.estimate, "low": m.low, "high": m.high} for name, m in middles.items()}


def table(findings: Sequence[dict], metric: Metric, rounds: int) -> str:
    """Costs in percent of the run's time, for each microsecond."""
    what = "a run" if metric.pattern is None else f"the same work, by {metric.name},"
    lines = [
        f"How much longer {what} takes for each microsecond that is added to every hold of one lock, and for the same",
        f"microsecond right after every release; the last column is the difference, which is what the lock costs.",
        f"95 % intervals from {rounds} rounds.",
        "",
        f"{'lock':<32} {'acquisitions':>12} {'held':>9} {'beside':>9}   because it is held",
    ]
    for finding in findings:
        price = finding["price"]
        name = f"{finding['kind']} {finding['name']}"
        lines.append(
            f"{name:<32} {finding['acquisitions']:>12,} {_percent(finding['held'])} {_percent(finding['beside'])}"
            f"   {100 * price['estimate']:+.2f} % ({100 * price['low']:+.2f} to {100 * price['high']:+.2f})"
        )
    paid = [finding for finding in findings if finding["price"]["low"] > 0]
    if paid:
        names = ", ".join(f"{finding['kind']} {finding['name']}" for finding in paid)
        lines += ["", f"The program pays for the holds of: {names}. Shorter ones would help it."]
    else:
        lines += ["", "For none of them is it shown that the program pays for its holds."]
    return "\n".join(lines)


def _percent(middle: dict) -> str:
    return f"{100 * middle['estimate']:>+7.2f} %"


def _say(line: str) -> None:
    print(f"lockswap whatif: {line}", file=sys.stderr, flush=True)
