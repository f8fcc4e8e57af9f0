"""Regenerates predict/advice.csv (advice.py), which takes some minutes.

python -m lockswap.predict.advice_maker [DRAWS] > predict/advice.csv
"""

import csv
import sys
from collections.abc import Sequence

from lockswap.base.paths import Paths
from lockswap.base.registry import Registry
from lockswap.predict import claims, machines, model, places, workloads
from lockswap.predict.advice import COLUMNS, Advice
from lockswap.predict.bands import Point, Subject

# With one word that all readers change, and one that all waiters poll.
PLAINEST = {"rwlock": "ba", "mutex": "ticket"}
MACHINE, WORKLOAD = "x5-2", "rwbench"
SHARES = {"rwlock": (0.0001, 0.01), "mutex": (1.0,)}
THREADS = (2, 4, 8, 16, 36, 72)


def first_of_all(faster: str, points: Sequence[Point], than: str) -> int | None:
    """The least number of threads from which on each number that was modelled has the claim."""
    found = {(str(p.subject), p.threads): p for p in points}
    first = None
    for threads in sorted({p.threads for p in points}, reverse=True):
        claim = claims.compare(found[faster, threads], found[than, threads])
        if claim is None or claim.faster != faster:
            break
        first = threads
    return first


def make(paths: Paths, draws: int) -> list[Advice]:
    program, registry = places.program(paths), Registry.load(paths)
    known = model.known_locks(program)
    compared = {"rwlock": registry.default_rwlocks, "mutex": registry.default_mutexes}
    machine = machines.find(places.machines(paths), MACHINE)
    workload = workloads.find(places.workloads(paths), WORKLOAD)
    found = []
    for kind, than in PLAINEST.items():
        locks = [name for name in compared[kind] if name in known[kind] and name != than]
        subjects = tuple(Subject(name, kind) for name in (than, *locks))
        for writes in SHARES[kind]:
            points = model.ask(program, model.Question(machine, workload, writes, subjects, THREADS, draws, 2e6))
            found += [
                Advice(kind, lock, than, MACHINE, WORKLOAD, writes, first_of_all(lock, points, than)) for lock in locks
            ]
    return found


def main() -> None:
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(COLUMNS)
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    for one in make(Paths.find(), draws):
        out.writerow([*(getattr(one, name) for name in COLUMNS[:-2]), f"{one.writes:g}", one.processors or ""])


if __name__ == "__main__":
    main()
