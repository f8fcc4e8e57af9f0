"""What a lock costs where one can measure it closely: one thread, two live readers, starved writers, mutexes and
wake-ups, start-up.

usage: PYTHONPATH=harness python tools/measure_costs.py [--rounds N] [--locks A,B] [--pairs N] [--out DIR] [WHAT ...]

WHAT: time, instructions, readers, writers, share, mutexes, wakeups, policy, startup (default: all). Every comparison is
paired: each round runs glibc and each lock in turn, and ratios are taken within the round. Writes costs.json, costs.md
and env.json in DIR, and prints the second. Needs ./run.sh build; `instructions` and `mutexes` need valgrind, `writers`
the workload test_rwlock, `wakeups` kcutiltest.
"""

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.base.registry import Registry
from lockswap.findings.stats import paired_ratio
from lockswap.run import machine

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
LIBRARY = BUILD / "liblockswap.so"
APPS = BUILD / "apps"
GLIBC = "glibc"
LOCKS = ["pthread", "pf-t", "ba", "cohort", "per-cpu", "rlu", "rlu-asym", "bravo-pthread", "bravo-pf-t", "bravo-ba"]
LOCKS += ["bravo-asym-ba", "eventual", "bravo-eventual", "auto"]
MUTEXES = [f"mutex:{name}" for name in ("pthread", "ticket", "mcs", "clh", "cohort", "per-cpu", "eventual", "auto")]
# Condition variables of ours, with glibc's mutexes.
OWN_CONDS = "cond:own"
# The figures that are asked for: at most these, as ratios to plain glibc, or as instructions.
READ_TIME = {"pthread": 1.08, "pf-t": 0.95, "ba": 0.95, "bravo-pthread": 0.95, "bravo-pf-t": 0.95, "bravo-ba": 0.95}
READ_TIME |= {"cohort": 1.2, "per-cpu": 1.3, "rlu": 1.0, "eventual": 0.9, "bravo-eventual": 0.95}
READ_INSTRUCTIONS = {"pthread": 75, "pf-t": 45, "ba": 45, "bravo-pthread": 60, "bravo-pf-t": 60, "bravo-ba": 60}
WRITE_TIME = {"pf-t": 1.4, "ba": 2.0, "bravo-pthread": 1.1, "bravo-pf-t": 1.5, "bravo-ba": 2.1, "eventual": 1.0}
LIVE_READERS = {"pf-t": 0.9, "ba": 0.9, "bravo-ba": 0.2, "cohort": 0.9, "per-cpu": 0.35, "rlu": 0.22}
LIVE_READERS |= {"rlu-asym": 0.18, "bravo-asym-ba": 0.18}
# By the mode of apps/uncontended, and whether there is a second thread, which sleeps.
MUTEX_TIME = {
    ("mutex", 1): {f"mutex:{name}": 1.1 for name in ("eventual", "ticket", "mcs")},
    ("mutex", 2): {f"mutex:{name}": 1.05 for name in ("eventual", "ticket", "mcs")},
}
WAKEUPS = {f"mutex:{name}": 0.9 for name in ("ticket", "mcs", "clh")} | {OWN_CONDS: 2.0}


def record_machine(out: Path) -> None:
    """DIR/env.json: a figure without its machine says nothing. Makes DIR."""
    out.mkdir(parents=True, exist_ok=True)
    paths = Paths.find()
    found = machine.environment(paths, Registry.load(paths).version, [])
    del found["perf_events"]
    (out / "env.json").write_text(json.dumps(found, indent=2) + "\n")


def environment(lock: str, **more: str) -> dict[str, str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
    if "=" in lock:
        variable, name = "LOCKSWAP_POLICY", lock
    else:
        kind, _, name = lock.rpartition(":")
        variable = {"mutex": "LOCKSWAP_MUTEX", "cond": "LOCKSWAP_COND"}.get(kind, "LOCKSWAP_RWLOCK")
    if lock != GLIBC:
        env |= {"LD_PRELOAD": str(LIBRARY), variable: name} | more
    return env


def output(command: list[str], lock: str, **more: str) -> str:
    done = subprocess.run(command, env=environment(lock, **more), capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def rounds_of(n: int, locks: list[str], measure) -> dict[str, list[float]]:
    """n rounds; in each the locks in turn, from another one on each time."""
    values: dict[str, list[float]] = {lock: [] for lock in locks}
    for r in range(n):
        for lock in locks[r % len(locks) :] + locks[: r % len(locks)]:
            values[lock].append(measure(lock))
    return values


def ratio(values: list[float], base: list[float]) -> dict[str, float]:
    """Rounds in which nothing was live have no figure, and so no pair."""
    pairs = [pair for pair in zip(values, base, strict=True) if min(pair) > 0]
    if not pairs:
        return {"ratio": math.nan, "low": math.nan, "high": math.nan, "pairs": 0}
    r = paired_ratio([a for a, _ in pairs], [b for _, b in pairs])
    return {"ratio": r.estimate, "low": r.low, "high": r.high, "pairs": r.n}


def compared(
    title: str,
    unit: str,
    values: dict[str, list[float]],
    targets: dict[str, float],
    more_is_better: bool = False,
    against: str = GLIBC,
) -> dict:
    base = values[against]
    rows = {}
    for lock, v in values.items():
        rows[lock] = {"median": statistics.median(v), "values": v, "target": targets.get(lock)}
        if lock != against:
            rows[lock] |= ratio(v, base)
    return {"title": title, "unit": unit, "rows": rows, "more_is_better": more_is_better, "against": against}


def thread_ns(mode: str, lock: str, pairs: int = 300_000, threads: int = 1) -> float:
    lines = output([str(APPS / "uncontended"), mode, str(pairs), "5", str(threads)], lock).splitlines()
    return min(float(line.split()[0]) for line in lines)


def one_thread(mode: str, rounds: int, locks: list[str], pairs: int, threads: int = 1) -> dict:
    def measure(lock: str) -> float:
        return thread_ns(mode, lock, pairs, threads)

    who = "One thread" if threads == 1 else "One thread, beside one that sleeps"
    title = f"{who}, {mode} acquire + release through the preload (thread CPU time)"
    targets = {"read": READ_TIME, "write": WRITE_TIME}.get(mode) or MUTEX_TIME.get((mode, threads), {})
    return compared(title, "ns", rounds_of(rounds, [GLIBC, *locks], measure), targets)


def instructions(mode: str, locks: list[str], with_glibc: bool = True) -> dict:
    def collected(lock: str, pairs: int) -> int:
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        text = output([*command, str(APPS / "uncontended"), mode, str(pairs), "1"], lock)
        return int(re.search(r"Collected : (\d+)", text).group(1))

    rows = {}
    for lock in [GLIBC] * with_glibc + locks:
        # The warm-up adds a tenth; what does not depend on the pairs cancels out.
        per_pair = (collected(lock, 110_000) - collected(lock, 10_000)) / 110_000
        rows[lock] = {"median": per_pair, "target": READ_INSTRUCTIONS.get(lock) if mode == "read" else None}
    return {"title": f"The same in instructions (callgrind), {mode}", "unit": "instructions", "rows": rows}


def live_readers(rounds: int, locks: list[str]) -> dict:
    kept: dict[str, list[float]] = {}

    def measure(lock: str) -> float:
        text = output([str(APPS / "pairs"), "--threads", "2", "--seconds", "0.5", "--tails", "0"], lock)
        kept.setdefault(lock, []).append(float(re.search(r"kept ([\d.]+)", text).group(1)))
        return float(re.search(r"live_ns ([\d.]+)", text).group(1))

    title = "Two live readers back to back (only stretches in which both make progress)"
    result = compared(title, "ns", rounds_of(rounds, [GLIBC, *locks], measure), LIVE_READERS)
    for lock, row in result["rows"].items():
        row["kept"] = statistics.median(kept[lock])
    floor = output([str(APPS / "pairs"), "--threads", "2", "--seconds", "0.5", "--tails", "0", "--empty"], GLIBC)
    result["floor"] = float(re.search(r"live_ns ([\d.]+)", floor).group(1))
    return result


def writers() -> dict:
    rows = {}
    for readers in (8, 16):
        for lock in [GLIBC, "ba", "bravo-ba"]:
            seconds = 4
            command = [str(APPS / "test_rwlock"), str(readers), "1", str(seconds), "-c", "10", "-e", "10", "-d", "1000"]
            writes = int(re.search(r"nr_writes\s+(\d+)", output(command, lock)).group(1))
            rows[f"{lock}, {readers} readers"] = {
                "median": writes / seconds,
                "target": None if lock == GLIBC else 1000,
            }
    return {"title": "test_rwlock: writes a second", "unit": "writes/s", "rows": rows, "more_is_better": True}


def fast_share() -> dict:
    rows = {}
    for lock in ["bravo-pthread", "bravo-pf-t", "bravo-ba"]:
        with tempfile.TemporaryDirectory() as tmp:
            output(
                [str(APPS / "pairs"), "--threads", "2", "--seconds", "1", "--tails", "0"],
                lock,
                LOCKSWAP_STATS=f"{tmp}/stats",
            )
            (found,) = Path(tmp).glob("stats.*")
            share = json.loads(found.read_text())["fast_read_share"]
        rows[lock] = {"median": share * 100, "target": 99.9}
    title = "Share of fast reads, read-only, 2 threads, 1 lock"
    return {"title": title, "unit": "%", "rows": rows, "more_is_better": True}


def wakeups(rounds: int, times: int) -> list[dict]:
    """What condition variables and the mutexes beside them do in a second."""

    def pingpong(lock: str) -> float:
        return float(
            re.search(r"handovers_s (\d+)", output([str(APPS / "pingpong"), "2", str(4 * times)], lock)).group(1)
        )

    def kcutiltest(lock: str) -> float:
        text = output(["kcutiltest", "cond", "-th", "4", str(times)], lock)
        seconds = re.search(r"^conditon variable:\n(?:.*\n)*?time: ([0-9.]+)", text, re.MULTILINE).group(1)
        return 4 * times / float(seconds)

    measured = (
        ("Two threads play ping-pong with condition variables", "hand-overs/s", pingpong),
        ("kcutiltest cond, 4 threads that wait", "waits/s", kcutiltest),
    )
    return [
        compared(title, unit, rounds_of(rounds, [GLIBC, *MUTEXES, OWN_CONDS], measure), WAKEUPS, more_is_better=True)
        for title, unit, measure in measured
    ]


def policy(rounds: int) -> list[dict]:
    """What objects pay that a policy leaves to glibc, and those that it swaps, to the same without a policy."""
    # The benchmark's lock is in no variable of this name.
    left, own = "symbol=no_such_variable", "module=uncontended"
    cases = [(mode, "pthread", f"{left} rwlock=ba") for mode in ("read", "write")]
    cases += [("read", "ba", f"{own} rwlock=ba"), ("write", "ba", f"{own} rwlock=ba")]
    cases += [("mutex", "mutex:pthread", f"{left} rwlock=ba"), ("mutex", "mutex:pthread", f"{left} mutex=mcs")]
    found = []
    for mode, without, rule in cases:
        values = rounds_of(rounds, [without, rule], lambda lock, mode=mode: thread_ns(mode, lock))
        title = f"Under '{rule}', one thread, {mode} acquire + release (thread CPU time)"
        targets = {rule: 1.03} if "rwlock=" in rule and left in rule else {}
        found.append(compared(title, "ns", values, targets, against=without))
        counts = instructions(mode, [without, rule], with_glibc=False)
        found.append(counts | {"title": f"The same in instructions (callgrind), {mode}"})
    return found


def startup(rounds: int) -> dict:
    def measure(lock: str) -> float:
        # 50 runs of `true` in one shell, each preloaded: what loading and starting the library adds.
        script = "for i in $(seq 50); do /bin/true; done; times"
        text = output(["/bin/sh", "-c", script], lock)
        user, system = (float(m) * 60 + float(s) for m, s in re.findall(r"(\d+)m([\d.]+)s", text)[2:4])
        return (user + system) / 50 * 1000

    values = rounds_of(rounds, [GLIBC, "bravo-ba"], measure)
    added = [b - a for a, b in zip(values[GLIBC], values["bravo-ba"], strict=True)]
    rows = {
        GLIBC: {"median": statistics.median(values[GLIBC]), "target": None},
        "bravo-ba": {"median": statistics.median(values["bravo-ba"]), "target": None},
        "added by the library": {"median": statistics.median(added), "target": 1.0},
    }
    return {"title": "Start-up: CPU time of /bin/true", "unit": "ms", "rows": rows}


def verdict(row: dict, more_is_better: bool) -> str:
    if row.get("target") is None:
        return ""
    value = row.get("ratio", row["median"])
    reached = value >= row["target"] if more_is_better else value <= row["target"]
    return "yes" if reached else "no"


def markdown(result: dict) -> str:
    more = result.get("more_is_better", False)
    lines = [
        f"### {result['title']}",
        "",
        f"| | {result['unit']} | ratio to {result.get('against', GLIBC)} (95 %) | target | reached |",
    ]
    lines.append("| --- | ---: | ---: | ---: | --- |")
    for name, row in result["rows"].items():
        paired = f"{row['ratio']:.2f} ({row['low']:.2f} to {row['high']:.2f})" if "ratio" in row else ""
        bound = "" if row.get("target") is None else f"{'at least' if more else 'at most'} {row['target']:g}"
        lines.append(f"| {name} | {row['median']:.4g} | {paired} | {bound} | {verdict(row, more)} |")
    if "floor" in result:
        lines += ["", f"Floor, two empty functions instead: {result['floor']:.2f} ns. Share of time in which both ran "]
        lines[-1] += "(median): " + ", ".join(f"{k} {v['kept']:.2f}" for k, v in result["rows"].items()) + "."
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="What a lock costs, closely measured.")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--locks", type=lambda names: names.split(","), default=LOCKS)
    parser.add_argument("--pairs", type=int, default=300_000, help="of acquire and release; wake-ups: a sixtieth")
    parser.add_argument("--out", type=Path, default=BUILD / "costs")
    names = ["time", "instructions", "readers", "writers", "share", "mutexes", "wakeups", "policy", "startup"]
    parser.add_argument("what", nargs="*", metavar="WHAT", help=f"of {', '.join(names)} (default: all)")
    args = parser.parse_args()
    unknown = [w for w in args.what if w not in names]
    if unknown or args.rounds < 6 or args.pairs < 1:
        print(
            f"measure_costs: unknown {unknown[0]!r}"
            if unknown
            else "measure_costs: --rounds is at least 6, --pairs at least 1",
            file=sys.stderr,
        )
        return 2
    if not LIBRARY.exists() or not (APPS / "pairs").exists():
        print("measure_costs: not built; run ./run.sh build", file=sys.stderr)
        return 2
    try:
        registry = Registry.load(Paths.find())
        args.locks = [registry.rwlock(name) for name in args.locks]
    except UserError as error:
        print(f"measure_costs: {error}", file=sys.stderr)
        return 2
    record_machine(args.out)
    wanted = args.what or names
    steps = {
        "time": lambda: [one_thread(mode, args.rounds, args.locks, args.pairs) for mode in ("read", "write")],
        "instructions": lambda: [instructions(mode, args.locks) for mode in ("read", "write")],
        "readers": lambda: [live_readers(args.rounds, args.locks)],
        "writers": lambda: [writers()],
        "share": lambda: [fast_share()],
        "mutexes": lambda: [
            *(one_thread(m, args.rounds, MUTEXES, args.pairs, n) for m in ("mutex", "recursive") for n in (1, 2)),
            instructions("mutex", MUTEXES),
        ],
        "wakeups": lambda: wakeups(args.rounds, max(1, args.pairs // 60)),
        "policy": lambda: policy(args.rounds),
        "startup": lambda: [startup(args.rounds)],
    }
    results = [result for name in wanted for result in steps[name]()]
    (args.out / "costs.json").write_text(json.dumps({"schema": 1, "results": results}, indent=1) + "\n")
    text = "\n".join(markdown(r) for r in results)
    (args.out / "costs.md").write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
