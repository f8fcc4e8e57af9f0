"""The measures of the address-space engine and of the Bonsai tree, in one go on a quiet machine.

usage: PYTHONPATH=harness:tools build/venv/bin/python structures/tools/measure_address_space.py [--pairs N]
           [--seconds S] [WHAT...]

WHAT (default: all):
  faults    page_fault1, 2 threads: each design's time of an operation to that of rwlock under glibc's lock
  mapping   isolated, 2 threads: a fault's time at 50 % and 100 % mapping, to that at 10 %
  mprotect  malloc, 2 threads: list-refined and list-pages to list-full
  metis     wc and wrmem, 2 threads: rwlock under bravo-pthread to glibc's lock
  lookups   Bonsai tree, 1 thread, 1,000 and 100,000 regions: to std::map under glibc's lock, to liburcu's tree
  counted   what no clock is needed for: garbage, a reader that sleeps, mprotect calls of the malloc trace

Rounds are interleaved: each takes all subjects in turn, and ratios are taken within the round, as medians with 95 %
intervals. Times are those of the live stretches, in which all threads made progress; a run without one has none, and
the number of pairs says how many there were. Beside them stand all the time, by the clock, and the CPU time. Ratios are
of time: a target of 3 times the throughput is a third of the time. Needs ./run.sh build.
"""

import argparse
import sys
from collections.abc import Hashable

from measure_bravo import Rounds, bench
from measure_costs import APPS, GLIBC, LIBRARY, ratio

THREADS = "--threads 2 --tails 0"
# Designs, each with a registry lock (or glibc's), and the most time that the target leaves them.
FAULTS = {
    ("pure-rcu", GLIBC): 1 / 3,
    ("rwlock", "bravo-ba"): 1 / 2,
    ("per-vma", GLIBC): 1 / 2,
    ("list-full", GLIBC): None,
    ("list-refined", GLIBC): None,
}
MAPPING = (0.1, 0.5, 1.0)


def name_of(subject: Hashable) -> str:
    parts = [str(part) for part in subject if part != GLIBC]
    return ", ".join(parts)


def pair(rounds: Rounds, subject: Hashable, base: Hashable, name: str) -> str:
    """Of the pairs in which both have that figure."""
    both = [
        (mine[name], its[name])
        for mine, its in zip(rounds.runs[subject], rounds.runs[base], strict=True)
        if mine.get(name, 0) > 0 and its.get(name, 0) > 0
    ]
    if not both:
        return "none"
    found = ratio([mine for mine, _ in both], [its for _, its in both])
    return f"{found['ratio']:.2f} ({found['low']:.2f}, {found['high']:.2f}), {len(both)}"


def with_cpu(run: dict[str, float]) -> dict[str, float]:
    return run | {"cpu_ns": 1e9 / run["ops_cpu"]}


def table(title: str, rounds: Rounds, of: list[tuple[Hashable, Hashable, float | None]], columns: dict) -> None:
    print(f"\n### {title}\n\nRatios of time with 95 % intervals, and the number of pairs.\n")
    print(f"| | {' | '.join(columns)} | target |\n| --- |{' --- |' * len(columns)} --- |")
    for subject, base, most in of:
        cells = [pair(rounds, subject, base, name) for name in columns.values()]
        target = "" if most is None else f"at most {most:.2f}"
        print(f"| {name_of(subject)} | {' | '.join(cells)} | {target} |", flush=True)


CLOCKS = {"live": "live_ns", "all the time": "all_ns", "CPU time": "cpu_ns"}


def rounds_of(subjects: list, line, pairs: int) -> Rounds:
    """`line` gives the command of a subject, whose last part is the lock."""
    rounds = Rounds(subjects, lambda subject: with_cpu(bench(line(subject), subject[-1])))
    rounds.go(pairs, pairs, list)
    return rounds


def faults(pairs: int, seconds: float) -> None:
    base = ("rwlock", GLIBC)

    def line(s) -> str:
        return f"address_space --workload page_fault1 --design {s[0]} --seconds {seconds} {THREADS}"

    rounds = rounds_of([base, *FAULTS], line, pairs)
    rows = [(subject, base, most) for subject, most in FAULTS.items()]
    rows.append((("list-refined", GLIBC), ("list-full", GLIBC), None))
    table("page_fault1, to rwlock under glibc's lock; the last row to list-full", rounds, rows, CLOCKS)


def mapping(pairs: int, seconds: float) -> None:
    subjects = [(d, share, GLIBC) for d in ("pure-rcu", "rwlock", "fault-lock") for share in MAPPING]

    def line(s) -> str:
        return f"address_space --workload isolated --mapping {s[1]} --design {s[0]} --seconds {seconds} {THREADS}"

    rounds = rounds_of(subjects, line, pairs)
    rows = [(s, (s[0], MAPPING[0], GLIBC), None) for s in subjects if s[1] != MAPPING[0]]
    columns = {"a fault, by the clock": "fault_ns", "CPU time": "fault_cpu_ns", "live, both threads": "live_ns"}
    table("isolated: a fault's time, to that at 10 % mapping", rounds, rows, columns)


def mprotect(pairs: int, seconds: float) -> None:
    subjects = [(d, GLIBC) for d in ("list-full", "list-refined", "list-pages")]

    def line(s) -> str:
        return f"address_space --workload malloc --design {s[0]} --seconds {seconds} {THREADS}"

    rows = [(s, subjects[0], None) for s in subjects[1:]]
    table("malloc, to list-full", rounds_of(subjects, line, pairs), rows, CLOCKS)


def metis(pairs: int, seconds: float) -> None:
    subjects = [(w, lock) for w in ("wc", "wrmem") for lock in (GLIBC, "bravo-pthread")]

    def line(s) -> str:
        return f"address_space --workload {s[0]} --design rwlock --seconds {seconds} {THREADS}"

    rows = [((w, "bravo-pthread"), (w, GLIBC), None) for w in ("wc", "wrmem")]
    table("Metis mixes, to glibc's lock", rounds_of(subjects, line, pairs), rows, CLOCKS)


def lookups(pairs: int, seconds: float) -> None:
    subjects = [(s, n, GLIBC) for n in (1000, 100000) for s in ("path", "map", "plain-memb")]

    def line(s) -> str:
        return f"bonsai --structure {s[0]} --regions {s[1]} --updates 0 --threads 1 --tails 0 --seconds {seconds / 2}"

    rounds = rounds_of(subjects, line, pairs)
    for base, most in (("map", 1.0), ("plain-memb", 1.2)):
        rows = [(("path", n, GLIBC), (base, n, GLIBC), most) for n in (1000, 100000)]
        table(f"Bonsai lookups, to {base}", rounds, rows, {"all the time": "all_ns", "CPU time": "cpu_ns"})


def counted(_pairs: int, seconds: float) -> None:
    print("\n### Counted\n")
    for copies in ("path", "rotations"):
        for inserts in (1000, 100000, 1000000):
            found = bench(f"bonsai_garbage --inserts {inserts} --copies {copies}", GLIBC)
            turns = f"rotations {found['singles']:.3f} single, {found['doubles']:.3f} double"
            print(f"{copies}, {inserts} inserts: garbage an insert {found['garbage']:.2f}, {turns}", flush=True)
    found = bench(f"bonsai_garbage --sleep {seconds}", GLIBC)
    print(f"a reader sleeps {seconds} s: {found['waiting']:.0f} nodes wait, after it {found['after']:.0f}")
    trace = APPS / "traces" / "malloc.vmtrace.gz"
    for design in ("list-refined", "list-pages"):
        found = bench(f"address_space --trace {trace} --design {design} --seconds {seconds} --tails 0", GLIBC)
        print(f"mprotect of the malloc trace, {design}: {100 * found['protects_share']:.2f} % speculative")


STEPS = {f.__name__: f for f in (faults, mapping, mprotect, metis, lookups, counted)}


def main() -> int:
    parser = argparse.ArgumentParser(description="The measures of the address-space engine and of the Bonsai tree.")
    parser.add_argument("--pairs", type=int, default=21, help="rounds (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.4, help="of a run (default: %(default)s)")
    parser.add_argument("what", nargs="*", metavar="WHAT", help=f"of {', '.join(STEPS)} (default: all)")
    args = parser.parse_args()
    problem = next((f"unknown {w!r}; there are {', '.join(STEPS)}" for w in args.what if w not in STEPS), None)
    if args.pairs < 1 or not args.seconds > 0:
        problem = "--pairs is at least 1, and --seconds above 0"
    elif not LIBRARY.exists() or not (APPS / "address_space").exists():
        problem = "not built; run ./run.sh build"
    if problem:
        print(f"measure_address_space: {problem}", file=sys.stderr)
        return 2
    for name in args.what or STEPS:
        STEPS[name](args.pairs, args.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
