"""Regenerates predict/advice.csv (advice.py), which takes 4 minutes of processor time, and prints the tables that
docs/locks.md has of it.

python -m lockswap.predict.advice_maker make [DRAWS] > predict/advice.csv
python -m lockswap.predict.advice_maker tables
"""

import csv
import sys
from collections.abc import Mapping, Sequence

from lockswap.base.paths import Paths
from lockswap.base.registry import Lock, Registry
from lockswap.predict import advice, claims, machines, model, places, workloads
from lockswap.predict.advice import COLUMNS, Advice
from lockswap.predict.bands import Point, Subject

# With one word that all readers change, and one that all waiters poll.
PLAINEST = {"rwlock": "ba", "mutex": "ticket"}
MACHINE, WORKLOAD = "x5-2", "rwbench"
SHARES = {"rwlock": (0.0001, 0.01), "mutex": (1.0,)}
THREADS = (2, 4, 8, 16, 36, 72)
# A lock over another one, such as BRAVO, may take some milliseconds until it is what it will be (docs/predict.md).
DRAWS, VIRTUAL_MS, VIRTUAL_MS_OVER_OTHERS = 12, 2.0, 10.0


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


def modelled(locks: Sequence[Lock], known: Sequence[str]) -> dict[str, str]:
    """The locks that get advice -> the names by which the model has their code: all but members of families, such as
    BRAVO over each other lock, of which there are only those that are compared or chosen by default."""
    of_families = over_others(locks)
    found = {lock.name: _code(lock) for lock in locks}
    chosen = {_code(lock) for lock in locks if lock.compared_by_default}
    return {name: code for name, code in found.items() if code in known and (name not in of_families or code in chosen)}


def over_others(locks: Sequence[Lock]) -> set[str]:
    return {name for family in Registry.families(locks) for name in family.members}


def _code(lock: Lock) -> str:
    return lock.same_code_as or lock.chosen or lock.name


def make(paths: Paths, draws: int) -> list[Advice]:
    program, registry = places.program(paths), Registry.load(paths)
    known = model.known_locks(program)
    locks = {"rwlock": modelled(registry.rwlocks, known["rwlock"]), "mutex": modelled(registry.mutexes, known["mutex"])}
    machine = machines.find(places.machines(paths), MACHINE)
    workload = workloads.find(places.workloads(paths), WORKLOAD)
    found = []
    for kind, than in PLAINEST.items():
        names = dict.fromkeys((than, *locks[kind].values()))
        slow = over_others(registry.rwlocks if kind == "rwlock" else registry.mutexes)
        for writes in SHARES[kind]:
            points = []  # of the same draws, so they can be compared
            for is_slow, ms in ((False, VIRTUAL_MS), (True, VIRTUAL_MS_OVER_OTHERS)):
                subjects = tuple(Subject(name, kind) for name in names if (name in slow) == is_slow)
                question = model.Question(machine, workload, writes, subjects, THREADS, draws, ms * 1e6)
                points += model.ask(program, question)
            found += _advice(kind, writes, locks[kind], points)
    return found


def _advice(kind: str, writes: float, locks: Mapping[str, str], points: Sequence[Point]) -> list[Advice]:
    than = PLAINEST[kind]
    return [
        Advice(kind, name, than, MACHINE, WORKLOAD, writes, first_of_all(code, points, than))
        for name, code in locks.items()
        if code != than
    ]


def main() -> None:
    if sys.argv[1:] == ["tables"]:
        print("\n\n".join(advice.tables(advice.read(places.advice(Paths.find())))))
        return
    if sys.argv[1:2] != ["make"]:
        sys.exit(__doc__)
    made = make(Paths.find(), int(sys.argv[2]) if len(sys.argv) > 2 else DRAWS)
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(COLUMNS)
    for one in made:
        out.writerow([*(getattr(one, name) for name in COLUMNS[:-2]), f"{one.writes:g}", one.processors or ""])


if __name__ == "__main__":
    main()
