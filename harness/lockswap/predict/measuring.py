"""What lockswap-measure finds out about this machine: latencies between processors, and what single operations cost."""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from lockswap.base.choice import MUTEX_MARK, Choice
from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.base.registry import Registry
from lockswap.predict.progress import Progress
from lockswap.predict.topology import Grid
from lockswap.run.preload import clean_environment, lock_variables

PROGRAM = "lockswap-measure"
_LOCK_ROUNDS = 3


@dataclass(frozen=True)
class Spread:
    """Nanoseconds: the median of several rounds, and their quartiles."""

    median: float
    low: float
    high: float


def latencies(program: Path, grid: Grid, seconds: float) -> dict[tuple[int, int], Spread]:
    """Between each two processors, the smaller number first."""
    cpus = sorted(grid.processors)
    pairs = len(cpus) * (len(cpus) - 1) // 2
    found: dict[tuple[int, int], Spread] = {}
    if not pairs:
        return found
    progress = Progress(pairs)
    for words in _lines(program, "latencies", f"{seconds:g}", *map(str, cpus)):
        found[int(words[0]), int(words[1])] = Spread(*map(float, words[2:]))
        progress.done(len(found), "pairs of processors")
    return found


def matrix(grid: Grid, found: dict[tuple[int, int], Spread], own: float) -> list[list[float]]:
    """Between cores: the median over their threads. To itself, a core has what its threads have, or else `own`."""

    def between(one: tuple[int, ...], other: tuple[int, ...]) -> float:
        pairs = [(min(a, b), max(a, b)) for a in one for b in other if a != b]
        return median(found[pair].median for pair in pairs) if pairs else own

    return [[between(one, other) for other in grid.cores] for one in grid.cores]


def operations(program: Path, processor: int) -> dict[str, Spread]:
    """What single operations cost on that processor, where no other one takes part."""
    return {words[0]: Spread(*map(float, words[1:])) for words in _lines(program, "costs", str(processor))}


def scheduling(program: Path, grid: Grid) -> dict[str, Spread]:
    """What the kernel's scheduler takes, between the first two cores; nothing if there is but one."""
    if len(grid.cores) < 2:
        return {}
    pair = (str(grid.cores[0][0]), str(grid.cores[1][0]))
    return {words[0]: Spread(*map(float, words[1:])) for words in _lines(program, "scheduling", *pair)}


def locks(paths: Paths, program: Path, registry: Registry, processor: int) -> dict[str, dict[str, float]]:
    """By label, then by kind of acquisition: a pair that nobody else wants. The locks take turns."""
    if paths.in_wheel:
        print(f"lockswap: note: uncontended locks aren't measured, since pip's {PROGRAM} is static", file=sys.stderr)
        return {}
    labels = ["none", *(lock.name for lock in registry.rwlocks), *(MUTEX_MARK + m.name for m in registry.mutexes)]
    rounds: dict[str, list[dict[str, float]]] = {label: [] for label in labels}
    for _ in range(_LOCK_ROUNDS):
        for label in labels:
            variables = lock_variables(paths.library, Choice.of(label), None, os.environ.get("LD_PRELOAD", ""))
            lines = _lines(program, "locks", str(processor), variables=variables)
            rounds[label].append({words[0]: float(words[1]) for words in lines})
    return {label: _medians(runs, _kinds(label)) for label, runs in rounds.items()}


def _kinds(label: str) -> tuple[str, ...]:
    if label == "none":
        return "read", "write", "mutex"
    return ("mutex",) if label.startswith(MUTEX_MARK) else ("read", "write")


def _medians(runs: Iterable[dict[str, float]], kinds: Iterable[str]) -> dict[str, float]:
    return {kind: median(run[kind] for run in runs) for kind in kinds}


def _lines(program: Path, *words: str, variables: dict[str, str] | None = None) -> Iterator[list[str]]:
    """The words of each line, as it comes."""
    env = clean_environment(os.environ) | (variables or {})
    with subprocess.Popen(
        [program, *words], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        for line in child.stdout:
            yield line.split()
        said = child.stderr.read()
    if child.returncode != 0:
        raise UserError(f"this machine can't be measured: {said.strip() or f'{PROGRAM} ended with {child.returncode}'}")
