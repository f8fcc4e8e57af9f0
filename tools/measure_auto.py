"""What the locks `eventual` and `auto` do beside glibc's, row by row, and whether each target is shown to be reached.

usage: PYTHONPATH=harness build/venv/bin/python tools/measure_auto.py [--rounds N] [--seconds S] [--others LOCKS]
       [--small] [--out DIR] [ROW ...]

ROW: of those in auto_rows.py (default: all). Every comparison is paired: each round runs glibc twice, and each lock, in
turn; ratios are taken within the round. They are above 1 where the lock is better, with their 95 % intervals, estimated
as `lockswap compare` does (docs/measuring.md); glibc against itself is the noise floor.

A target is "reached" if the whole interval is on its side and the difference beyond the noise, "missed" if the whole
interval is on the other side, else "open". Where nothing is asked but not to be slower, it is "kept" unless the whole
interval lies below. Figures in their own unit have the interval of their median.

Writes auto.json, auto.md and env.json in DIR, and prints the second. Needs ./run.sh build and the workloads; a program
that is not installed, and a cgroup that cannot be made, is said and left out. `--others` adds locks to all places that
take their kind, and says what `auto` has of each that is shown above 1.2 there (asked: 0.85).
"""

import argparse
import json
import math
import statistics
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from auto_rows import BOTH, PINGPONG, ROWS, Asked, Place
from measure_costs import APPS, BUILD, LIBRARY, record_machine
from quota_group import NoGroup, QuotaGroup

from lockswap.base.choice import NONE, kinds_of
from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.base.registry import Registry
from lockswap.base.selection import parse
from lockswap.findings.stats import MIN_PAIRS, OPEN, Noise, Ratio, noise_of, paired_ratio, shift
from lockswap.recipes import reader
from lockswap.recipes.recipe import Recipe
from lockswap.records.status import OK
from lockswap.run.outcome import Outcome
from lockswap.run.runner import measure
from lockswap.run.setup import Setup

AGAIN = "none again"
BEST, SHARE_OF_BEST = 1.2, 0.85
AUTO = ("auto", "mutex:auto", BOTH)


@dataclass(frozen=True)
class Found:
    """A figure of a lock at a place, and what is asked of it."""

    lock: str
    figure: str
    unit: str
    glibc: float
    median: float
    ratio: Ratio | None
    interval: tuple[float, float] | None  # of the median
    noise: Noise | None
    target: str
    state: str


class Measurement:
    def __init__(self, rounds: int, seconds: float, small: bool) -> None:
        self.rounds, self.seconds, self.small = rounds, seconds, small
        self.setup = Setup(Paths.find(), None)
        self.recipes = reader.load_all(self.setup.paths.recipes) | {PINGPONG.name: PINGPONG}

    def at(self, place: Place, locks: Sequence[str]) -> tuple[dict[str, list[Outcome]], str]:
        """The rounds of a place, or why there are none."""
        recipe = self.recipes[place.workload]
        if missing := recipe.missing_program(APPS):
            return {}, f"{missing} is not there"
        subjects = [NONE, AGAIN, *locks]
        runs: dict[str, list[Outcome]] = {subject: [] for subject in subjects}
        try:
            with QuotaGroup(place.quota) if place.quota else nullcontext() as group:
                for number in range(self.rounds):
                    turn = number % len(subjects)
                    for subject in subjects[turn:] + subjects[:turn]:
                        outcome = self._run(recipe, place, subject, group)
                        if outcome.status != OK:
                            return {}, f"under {subject}: {outcome.status}: {outcome.detail}"
                        runs[subject].append(outcome)
        except NoGroup as why:
            return {}, str(why)
        return runs, ""

    def _run(self, recipe: Recipe, place: Place, subject: str, group: QuotaGroup | None) -> Outcome:
        lock = NONE if subject == AGAIN else subject
        params = {**recipe.params, **(recipe.quick_params if self.small else {})}
        # Programs that are not ours take whole seconds.
        ours = recipe.command[0].startswith("{apps}") and not recipe.build
        seconds = self.seconds if ours else max(1, math.ceil(self.seconds))
        with group.inside() if group else nullcontext():
            return measure(self.setup, recipe, lock, place.threads, seconds, params)

    def value(self, recipe: Recipe, outcome: Outcome, asked: Asked) -> float:
        value = sum(outcome.metrics.get(name, 0.0) for name in asked.metrics)
        if asked.per_cpu:
            value *= outcome.usage["wall_s"] / outcome.usage["cpu_s"]
        return value

    def judged(self, place: Place, runs: dict[str, list[Outcome]], lock: str, asked: Asked) -> Found:
        recipe = self.recipes[place.workload]
        about = next(metric for metric in recipe.metrics if metric.name == asked.metrics[0])
        values = {subject: [self.value(recipe, one, asked) for one in outcomes] for subject, outcomes in runs.items()}
        ratio = paired_ratio(values[lock], values[NONE], about.better == "higher")
        noise = noise_of(values[AGAIN], values[NONE])
        ratio = ratio and ratio.with_noise(noise and noise.floor)
        of_median = shift(values[lock])
        interval = (of_median.low, of_median.high) if of_median.n >= MIN_PAIRS else None
        target, state = verdict(asked, ratio, interval, about.unit)
        middle, glibc = statistics.median(values[lock]), statistics.median(values[NONE])
        return Found(lock, asked.name, about.unit, glibc, middle, ratio, interval, noise, target, state)


def verdict(asked: Asked, ratio: Ratio | None, interval: tuple[float, float] | None, unit: str) -> tuple[str, str]:
    """What is asked, in words, and whether it is reached."""
    word, bound = ("at least", asked.least) if asked.least is not None else ("at most", asked.most)
    target = f"{word} {bound:.4g}" + (f" {unit}" if asked.itself else "")
    if asked.itself:
        low, high = interval or (-math.inf, math.inf)
    else:
        known = ratio is not None and ratio.trusted
        low, high = (ratio.low, ratio.high) if known else (0.0, math.inf)
    if asked.most is not None:
        low, high, bound = -high, -low, -bound
    if asked.floor:
        below = high < bound and ratio is not None and ratio.beyond_noise
        return f"not below {bound:.4g}", "shown below" if below else "kept" if math.isfinite(high) else "open"
    if not asked.itself and ratio is not None and ratio.verdict == OPEN and bound >= 1:
        return target, "missed" if high < bound else "open"
    return target, "reached" if low >= bound else "missed" if high < bound else "open"


def of_the_best(measurement: Measurement, place: Place, runs: dict[str, list[Outcome]], others: Sequence[str]) -> list:
    """What `auto` has of each lock that is shown above BEST."""
    recipe, lines = measurement.recipes[place.workload], []
    auto = next((lock for lock in place.asked if lock in AUTO), None)
    for one in place.asked.get(auto, ()) if auto else ():
        if one.itself:
            continue
        about = next(metric for metric in recipe.metrics if metric.name == one.metrics[0])
        values = {subject: [measurement.value(recipe, o, one) for o in outcomes] for subject, outcomes in runs.items()}
        higher = about.better == "higher"
        for lock in others:
            to_glibc = paired_ratio(values[lock], values[NONE], higher)
            if not to_glibc.trusted or to_glibc.low < BEST:
                continue
            ratio = paired_ratio(values[auto], values[lock], higher)
            asked = Asked(one.metrics, least=SHARE_OF_BEST, floor=True, per_cpu=one.per_cpu)
            target, state = verdict(asked, ratio, None, about.unit)
            middle = [statistics.median(values[subject]) for subject in (lock, auto)]
            name = f"{asked.name}, to {lock}'s"
            lines.append(Found(auto, name, about.unit, *middle, ratio, None, None, target, state))
    return lines


def markdown(title: str, results: list[dict[str, Any]]) -> str:
    lines = [
        f"### {title}",
        "",
        "| program, threads | lock | figure | glibc | lock's | ratio (95 %) | noise | target | |",
    ]
    lines.append("| --- | --- | --- | ---: | ---: | ---: | ---: | --- | --- |")
    notes = []
    for one in results:
        place = f"{one['workload']}, {one['threads']}" + (f", {one['quota']} %" if one["quota"] else "")
        if one["why"]:
            notes += ["", f"Not measured: {place}: {one['why']}."]
        for f in one["found"]:
            ratio = f"{f.ratio.estimate:.3g} ({f.ratio.low:.3g} to {f.ratio.high:.3g})" if f.ratio else ""
            floor = f"{f.noise.floor:.2f}" if f.noise and f.noise.floor else ""
            own = f" ({f.interval[0]:.4g} to {f.interval[1]:.4g})" if f.interval and f.unit in f.target else ""
            cells = [place, f.lock, f.figure, f"{f.glibc:.4g}", f"{f.median:.4g}{own}", ratio, floor, f.target, f.state]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, *notes]) + "\n"


def taken(recipe: Recipe, locks: Sequence[str]) -> list[str]:
    return [lock for lock in locks if kinds_of([lock]) <= set(recipe.takes)]


def main() -> int:
    parser = argparse.ArgumentParser(description="What eventual and auto do beside glibc's locks.")
    parser.add_argument("--rounds", type=int, default=11, help=f"an interval needs {MIN_PAIRS} (default: 11)")
    parser.add_argument("--seconds", type=float, default=1.0, help="of a run, where a program takes any (default: 1)")
    parser.add_argument("--others", default="", metavar="LOCKS", help="also these, such as ba,cohort,mutex:mcs")
    parser.add_argument("--small", action="store_true", help="programs with a fixed amount of work do little of it")
    parser.add_argument("--out", type=Path, default=BUILD / "auto")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)} (default: all)")
    args = parser.parse_args()
    unknown = [row for row in args.rows if row not in ROWS]
    problem = f"unknown row {unknown[0]!r}; they are {', '.join(ROWS)}" if unknown else ""
    if not problem and (args.rounds < 1 or args.seconds <= 0):
        problem = "--rounds is at least 1, and --seconds more than 0"
    if not problem and not LIBRARY.exists():
        problem = "not built; run ./run.sh build"
    try:
        registry = Registry.load(Paths.find()) if not problem else None
        others = [parse(registry, name).label for name in args.others.split(",") if name] if registry else []
    except UserError as error:
        problem = str(error)
    if problem:
        print(f"measure_auto: {problem}", file=sys.stderr)
        return 2
    record_machine(args.out)
    measurement = Measurement(args.rounds, args.seconds, args.small)
    written: dict[str, Any] = {}
    texts: list[str] = []
    for name in args.rows or ROWS:
        results = []
        for place in ROWS[name].places:
            print(f"measure_auto: {name}: {place.workload}, {place.threads} threads", file=sys.stderr, flush=True)
            more = [lock for lock in taken(measurement.recipes[place.workload], others) if lock not in place.asked]
            runs, why = measurement.at(place, [*place.asked, *more])
            found = (
                [measurement.judged(place, runs, lock, one) for lock, all_ in place.asked.items() for one in all_]
                if runs
                else []
            )
            found += of_the_best(measurement, place, runs, more) if runs else []
            values = {s: [one.metrics | one.usage for one in outcomes] for s, outcomes in runs.items()}
            results.append({"workload": place.workload, "threads": place.threads, "quota": place.quota, "why": why})
            results[-1] |= {"found": found, "runs": values}
            # After each place: a long measurement that is broken off leaves what it had.
            written[name] = [{**one, "found": [asdict(f) for f in one["found"]]} for one in results]
            about = {"schema": 1, "rounds": args.rounds, "seconds": args.seconds, "rows": written}
            (args.out / "auto.json").write_text(json.dumps(about, indent=1) + "\n")
        texts.append(markdown(ROWS[name].title, results))
        (args.out / "auto.md").write_text("\n".join(texts))
    print("\n".join(texts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
