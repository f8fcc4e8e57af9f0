"""Measures what `lockswap predict --validate` predicted: acquisitions back to back, under each lock."""

import os
import random
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from lockswap.base.choice import MUTEX_MARK, Choice
from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.base.text import in_seconds
from lockswap.predict.measured import Measured, Place
from lockswap.predict.progress import Progress
from lockswap.run.preload import clean_environment, lock_variables

# The model's waiters poll.
_WAIT = "spin"
_LIVE = re.compile(r"^live_ns ([0-9.]+) kept ([0-9.]+) all_ns ([0-9.]+)", re.MULTILINE)


@dataclass(frozen=True)
class Loop:
    """The benchmark without a lock: nanoseconds of a turn, and the share of the time in which all threads made
    progress, which is below 1 where others use the processors."""

    ns: float
    kept: float

    @classmethod
    def measure(cls, program: Path, threads: int) -> "Loop":
        line = [program, "--empty", "--threads", str(threads), "--seconds", "0.2", "--tails", "0"]
        found = [_live(_run(line)) for _ in range(5)]
        return cls(median(one[0] for one in found), median(one[1] for one in found))


def measure(paths: Paths, program: Path, places: Sequence[Place], rounds: int, seconds: float) -> dict[Place, Measured]:
    """The places take turns, in a new random order in each round."""
    found: dict[Place, list[float]] = {place: [] for place in places}
    loops = {threads: Loop.measure(program, threads) for threads in {place.threads for place in places}}
    progress, done = Progress(rounds * len(places)), 0
    for number in range(rounds):
        for place in random.Random(number).sample(list(places), len(places)):
            found[place].append(_rate(paths, program, place, seconds, loops[place.threads]))
            done += 1
            progress.done(done, "runs")
    return {place: Measured.of(rates) for place, rates in found.items()}


def _rate(paths: Paths, program: Path, place: Place, seconds: float, loop: Loop) -> float:
    line = [program, "--threads", str(place.threads), "--seconds", f"{seconds:g}", "--tails", "0"]
    line += ["--mutex"] if place.kind == "mutex" else ["--writes", f"{place.writes:g}"]
    choice = Choice.of(MUTEX_MARK + place.lock if place.kind == "mutex" else place.lock)
    variables = lock_variables(paths.library, choice, _WAIT, os.environ.get("LD_PRELOAD", ""))
    ns, kept, of_all = _live(_run(line, variables))
    # A lock that makes its threads wait keeps them from progress, too (apps/README.md).
    each = ns if kept >= loop.kept / 2 else of_all
    if each <= 0:
        raise UserError(f"{place.lock} did nothing in {in_seconds(seconds)}: raise --seconds, and let nothing else run")
    return place.threads * 1e9 / each


def _run(line: list, variables: dict[str, str] | None = None) -> str:
    env = clean_environment(os.environ) | (variables or {})
    done = subprocess.run([str(word) for word in line], env=env, capture_output=True, text=True)
    if done.returncode != 0:
        raise UserError(f"{Path(line[0]).name} can't be measured: {done.stderr.strip() or done.returncode}")
    return done.stdout


def _live(printed: str) -> tuple[float, float, float]:
    """Nanoseconds of a thread for an operation while all threads ran, the share of that time, and over all time."""
    live = _LIVE.search(printed)
    if live is None:
        raise UserError("pairs could not be measured, since it needs a processor for each thread: lower --threads")
    return float(live[1]), float(live[2]), float(live[3])
