"""What BRAVO gains, what it harms, and what sharing one readers table costs: bravo-U against U, closely measured.

usage: PYTHONPATH=harness build/venv/bin/python tools/measure_bravo.py [--pairs N] [--most N] [--out DIR] [WHAT...]

WHAT (default: all):
  harm          back to back, 2 threads, 1 % and 10 % writes: bravo-U's time to U's; revocation's share of the time
  rare          the same with 1 write in 10,000: bravo-ba's time to ba's; the share of fast reads
  rwbench       RWBench at its six shares of writes, 2 threads: operations a CPU-second of bravo-U to U's
  interference  a thread a processor, pools of 1 to 8192 locks: one shared table to a table for each lock
  slots         the same with 64 locks and one table of 16 to 65536 slots, to one of 4096

Comparisons are paired: each round runs all in turn, and ratios are taken within the round. There are at least --pairs
rounds, and more, up to --most, while an interval is wider than 0.10 either way; what is still wider then was not
measured. Times are those of the live stretches (apps/common/live.h), or of all the time if a lock's kept share is below
half of glibc's; on a machine too busy to run all threads they are not called measured. Beside the live stretches stands
the ratio of all the time. Writes bravo.json, bravo.md and env.json in DIR, and prints the second. Needs ./run.sh build.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Hashable
from pathlib import Path

from measure_costs import APPS, BUILD, GLIBC, LIBRARY, output, ratio, record_machine

UNDERLYING = ["pthread", "pf-t", "ba"]
WIDEST = 0.10  # of an interval, from the estimate to either end
GUARD = 9  # LOCKSWAP_BRAVO_N's default: revocation's share is at most 1 / (GUARD + 1)
LEAST_PAIRS = 31
LEAST_KEPT = 0.3  # of the lock that is live most: with less, the machine had no processors for the threads
SHARES = [0.9, 0.5, 0.1, 0.01, 0.001, 0.0001]

Run = dict[str, float]


def bench(line: str, lock: str, **variables: str) -> Run:
    """Runs one of our benchmarks; what it prints, by name."""
    program, *options = line.split()
    words = output([str(APPS / program), *options], lock, **variables).split()
    return {name: float(value) for name, value in zip(words[::2], words[1::2], strict=True)}


def counts(line: str, lock: str) -> tuple[Run, dict]:
    """The same with LOCKSWAP_STATS: the run, and the library's counts."""
    with tempfile.TemporaryDirectory() as tmp:
        run = bench(line, lock, LOCKSWAP_STATS=f"{tmp}/stats")
        (found,) = Path(tmp).glob("stats.*")
        return run, json.loads(found.read_text())


class Rounds:
    """Rounds in which every subject takes its turn; more of them until all ratios are known well enough."""

    def __init__(self, subjects: list[Hashable], measure: Callable[[Hashable], Run]) -> None:
        self.subjects = subjects
        self.measure = measure
        self.runs: dict[Hashable, list[Run]] = {subject: [] for subject in subjects}

    def go(self, least: int, most: int, ratios: Callable[[], list[dict]]) -> list[dict]:
        """Runs rounds; `ratios` are judged after `least`, and again after each quarter more."""
        done = 0
        while True:
            for _ in range(least if done == 0 else -(-least // 4)):
                for i in range(len(self.subjects)):
                    subject = self.subjects[(i + done) % len(self.subjects)]
                    self.runs[subject].append(self.measure(subject))
                done += 1
            found = ratios()
            if done >= most or all(r["measured"] for r in found):
                return found

    def values(self, subject: Hashable, name: str) -> list[float]:
        return [run[name] for run in self.runs[subject]]

    def kept(self, subject: Hashable) -> float:
        return statistics.median(self.values(subject, "kept"))

    def time_of(self, *subjects: Hashable, reference: Hashable | None = None) -> str:
        """Which time counts for these: of live stretches, or of all the time if too little of a run was live."""
        least = min(self.kept(s) for s in subjects)
        return "all_ns" if reference is not None and least < self.kept(reference) / 2 else "live_ns"

    def ratio(self, subject: Hashable, base: Hashable, name: str) -> dict:
        r = ratio(self.values(subject, name), self.values(base, name))
        narrow = r["high"] - r["ratio"] <= WIDEST and r["ratio"] - r["low"] <= WIDEST
        busy = name in ("live_ns", "all_ns") and max(map(self.kept, self.subjects)) < LEAST_KEPT
        found = r | {"measured": narrow and r["pairs"] >= LEAST_PAIRS and not busy, "busy": busy, "of": name}
        if name == "live_ns":
            found["all"] = ratio(self.values(subject, "all_ns"), self.values(base, "all_ns"))
        return found


def at_most(value: float) -> dict:
    return {"target": value, "more_is_better": False}


def at_least(value: float) -> dict:
    return {"target": value, "more_is_better": True}


def harm(least: int, most: int) -> list[dict]:
    results = []
    for share in (0.01, 0.1):
        line = f"pairs --threads 2 --writes {share} --tails 0"
        locks = [GLIBC] + [name for u in UNDERLYING for name in (u, f"bravo-{u}")]
        rounds = Rounds(locks, lambda lock, line=line: bench(f"{line} --seconds 0.3", lock))

        def ratios(rounds=rounds) -> list[dict]:
            return [rounds.ratio(f"bravo-{u}", u, rounds.time_of(f"bravo-{u}", u, reference=GLIBC)) for u in UNDERLYING]

        found = rounds.go(least, most, ratios)
        rows = {
            f"bravo-{u} / {u}": r | at_most(1.10) | {"kept": rounds.kept(f"bravo-{u}")}
            for u, r in zip(UNDERLYING, found, strict=True)
        }
        results.append(
            {"title": f"Back to back, {share:.0%} writes, 2 threads: time to the underlying lock's"} | {"rows": rows}
        )
        rows = {f"bravo-{u}": revocation_share(f"{line} --seconds 1", f"bravo-{u}") for u in UNDERLYING}
        results.append(
            {"title": f"The same: revocation's share of the time, {share:.0%} writes (counted)", "rows": rows}
        )
    return results


def revocation_share(line: str, lock: str) -> dict:
    """Revocations of one lock exclude each other, so their sum is a share of the run's time: the worst of 7 runs."""
    shares = []
    for _ in range(7):
        run, stats = counts(line, lock)
        elapsed_ns = run["all_ns"] * run["ops"] / 2  # of each of the two threads
        shares.append(stats["totals"]["revocation_ns"] / elapsed_ns)
    return {"value": max(shares), "values": shares} | at_most(1 / (GUARD + 1))


def rare(least: int, most: int) -> list[dict]:
    line = "pairs --threads 2 --writes 0.0001 --tails 0"
    rounds = Rounds([GLIBC, "ba", "bravo-ba"], lambda lock: bench(f"{line} --seconds 0.3", lock))
    (found,) = rounds.go(
        least,
        most,
        lambda: [rounds.ratio("bravo-ba", "ba", rounds.time_of("bravo-ba", "ba", reference=GLIBC))],
    )
    fast = [counts(f"{line} --seconds 1", "bravo-ba")[1]["fast_read_share"] for _ in range(7)]
    return [
        {
            "title": "Back to back, 1 write in 10,000, 2 threads: time to ba's",
            "rows": {"bravo-ba / ba": found | at_most(0.35) | {"kept": rounds.kept("bravo-ba")}},
        },
        {
            "title": "The same: share of fast reads (counted; median of 7 runs)",
            "rows": {"bravo-ba": {"value": statistics.median(fast), "values": fast} | at_least(0.90)},
        },
    ]


def rwbench(least: int, most: int) -> list[dict]:
    rows = {}
    for share in SHARES:
        locks = [name for u in UNDERLYING for name in (u, f"bravo-{u}")]
        line = f"rwbench --threads 2 --writes {share} --seconds 0.3 --tails 0"
        rounds = Rounds(locks, lambda lock, line=line: bench(line, lock))
        found = rounds.go(
            least, most, lambda rounds=rounds: [rounds.ratio(f"bravo-{u}", u, "ops_cpu") for u in UNDERLYING]
        )
        for u, r in zip(UNDERLYING, found, strict=True):
            rows[f"{share:g} writes, bravo-{u} / {u}"] = r | at_least(0.92)
    return [{"title": "RWBench, 2 threads: operations a CPU-second to the underlying lock's", "rows": rows}]


def interference(least: int, most: int) -> list[dict]:
    rows = {}
    for locks in [2**n for n in range(14)]:
        line = f"interference --threads {processors()} --pin --locks {locks} --seconds 0.25 --tails 0"
        rounds = Rounds(["shared", "private"], lambda table, line=line: bench(f"{line} --table {table}", GLIBC))
        # Of speeds, as in the paper: private's time to shared's.
        (found,) = rounds.go(least, most, lambda rounds=rounds: [rounds.ratio("private", "shared", "live_ns")])
        kept = min(rounds.kept("shared"), rounds.kept("private"))
        rows[f"{locks} locks"] = found | at_least(0.94) | {"kept": kept}
    title = f"Interference, {processors()} threads: speed with one shared table to that with a table for each lock"
    return [{"title": title, "rows": rows}]


def slots(least: int, most: int) -> list[dict]:
    sizes = [str(4**n) for n in range(2, 9)]
    line = f"interference --threads {processors()} --pin --locks 64 --tails 0"
    rounds = Rounds(sizes, lambda size: bench(f"{line} --seconds 0.25", "bravo-ba", LOCKSWAP_BRAVO_SLOTS=str(size)))
    found = rounds.go(least, most, lambda: [rounds.ratio("4096", size, "live_ns") for size in sizes])
    rows = {f"{size} slots": r for size, r in zip(sizes, found, strict=True) if size != "4096"}
    return [
        {"title": f"Size of the table, 64 locks, {processors()} threads: speed to that with 4096 slots", "rows": rows}
    ]


def processors() -> int:
    return len(os.sched_getaffinity(0))


def verdict(row: dict) -> str:
    if row.get("measured") is False:
        return "not measured: the machine was busy" if row.get("busy") else "not measured"
    if "target" not in row:
        return ""
    value = row.get("ratio", row.get("value"))
    reached = value >= row["target"] if row["more_is_better"] else value <= row["target"]
    return "yes" if reached else "no"


def interval(r: dict) -> str:
    return f"{r['ratio']:.3f} ({r['low']:.3f} to {r['high']:.3f})"


def markdown(result: dict) -> str:
    lines = [f"### {result['title']}", "", "| | (95 %) | all the time | pairs | kept | target | reached |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: | --- |")
    for name, row in result["rows"].items():
        figure = interval(row) if "ratio" in row else f"{row['value']:.3f}"
        note = ", all the time" if row.get("of") == "all_ns" else ""
        everything = interval(row["all"]) if "all" in row else ""
        kept = f"{row['kept']:.2f}" if "kept" in row else ""
        bound = f"at {'least' if row['more_is_better'] else 'most'} {row['target']:g}" if "target" in row else ""
        lines.append(
            f"| {name} | {figure}{note} | {everything} | {row.get('pairs', '')} | {kept} | {bound} | {verdict(row)} |"
        )
    return "\n".join(lines) + "\n"


STEPS = {"harm": harm, "rare": rare, "rwbench": rwbench, "interference": interference, "slots": slots}


def main() -> int:
    parser = argparse.ArgumentParser(description="What BRAVO gains and costs, closely measured.")
    parser.add_argument("--pairs", type=int, default=LEAST_PAIRS, help="rounds at least (default: %(default)s)")
    parser.add_argument("--most", type=int, default=4 * LEAST_PAIRS, help="rounds at most (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=BUILD / "costs")
    parser.add_argument("what", nargs="*", metavar="WHAT", help=f"of {', '.join(STEPS)} (default: all)")
    args = parser.parse_args()
    problem = next((f"unknown {w!r}; there are {', '.join(STEPS)}" for w in args.what if w not in STEPS), None)
    if args.pairs < 1 or args.most < args.pairs:
        problem = "--pairs is at least 1, and --most at least as many"
    elif not LIBRARY.exists() or not (APPS / "interference").exists():
        problem = "not built; run ./run.sh build"
    if problem:
        print(f"measure_bravo: {problem}", file=sys.stderr)
        return 2
    record_machine(args.out)
    results: list[dict] = []
    for name in args.what or STEPS:
        results += STEPS[name](args.pairs, args.most)
        # After each step: the whole takes an hour, and what is done shall not be lost.
        (args.out / "bravo.json").write_text(json.dumps({"schema": 1, "results": results}, indent=1) + "\n")
        (args.out / "bravo.md").write_text("\n".join(markdown(r) for r in results))
    print((args.out / "bravo.md").read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
