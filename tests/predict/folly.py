#!/usr/bin/env python3
"""Predicts tables that others measured with folly's benchmarks, and compares with them afterwards.

    folly.py calibrate                   the model beside the rows of raw atomics that its constants were fitted on
    folly.py predict [--draws N] > FILE  predictions of both tables, to be committed before the tables are read
    folly.py judge FILE OBSERVED         FILE beside OBSERVED: evidence/folly.csv

Rows: `small` is folly/synchronization/test/SmallLocksBenchmark.cpp, nanoseconds of a thread's iteration; `shared` is
folly/test/SharedMutexTest.cpp, nanoseconds of an operation of the whole. Only rows with at most as many threads as the
machine has hardware threads (folly_sharing.py has the others), and none of the locks that let another thread run the
section. It needs bin/lockswap-model-peers of the build tree.
"""

import argparse
import csv
import json
import math
import os
import random
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "harness"))

from lockswap.predict import machines  # noqa: E402
from lockswap.predict.bands import Band  # noqa: E402
from lockswap.predict.draws import ARBITRATIONS, FITTED, machine_lines  # noqa: E402

PROGRAM = ROOT / "build/bin/lockswap-model-peers"
THREADS = (1, 2, 4, 8, 16, 32, 64)
VIRTUAL_NS = 1_000_000
SMALL_LOCKS = {
    "std::mutex": "std::mutex",
    "MicroSpinLock": "MicroSpinLock",
    "PicoSpinLock": "PicoSpinLock",
    "MicroLock": "MicroLock",
    "SharedMutex": "SharedMutex",
    "DistributedMutex": "DistributedMutex",
}
SHARED_LOCKS = {
    "folly_rwspin": "RWSpinLock",
    "shmtx_wr_pri": "SharedMutexWritePriority",
    "shmtx_rd_pri": "SharedMutexReadPriority",
    "pthrd_rwlock": "guarded",
    "boost_shared": "guarded",
}
SHARED_FORMS = {"reads": 0.0, "all_write": 1.0, "10pct_write": 0.1, "1pct_write": 0.01}
BASELINES = {"small": "std::mutex", "shared": "folly_rwspin"}  # the tables' own
# What 1,000 rounds of the empty loop take on each machine, with all hardware threads busy: the uncontended raw rows.
LOOP_NS = {"e5-2680-v4": 605.0, "d-2191": 1270.0}


@dataclass(frozen=True)
class Row:
    table: str
    machine: str
    lock: str
    form: str
    threads: int


def rows() -> list[Row]:
    found = [
        Row("small", machine, lock, form, threads)
        for machine in LOOP_NS
        for lock in SMALL_LOCKS
        for form in ("loop", "simple")
        for threads in THREADS
    ]
    found += [
        Row("shared", "e5-2660", lock, form, threads)
        for lock in SHARED_LOCKS
        for form in SHARED_FORMS
        for threads in THREADS
    ]
    processors = {
        name: machines.find(ROOT / "predict/machines", name).processors for name in {r.machine for r in found}
    }
    return [row for row in found if row.threads <= processors[row.machine]]


def setting(machine: machines.Machine, seed: int, loop_ns: float) -> list[str]:
    """What all rows of a draw have in common. Every hardware thread is busy in `small`, so places are any."""
    rng = random.Random(f"{machine.name} {seed}")
    cores = machine.nodes * machine.cores
    if loop_ns:
        order = [core for core in range(cores) for _ in range(machine.threads)]
        rng.shuffle(order)
    else:
        order = [core for _ in range(machine.threads) for core in rng.sample(range(cores), cores)]
    factor = rng.lognormvariate(0, 0.08)
    costs = FITTED | {
        "hit": rng.uniform(1.0, 1.6),
        "step": rng.uniform(1.0, 2.5),
        "serve": rng.uniform(3, 8),
        **costs_of_threads(rng, loop_ns),
    }
    return [*machine_lines(machine, order, factor, costs), *of_all_runs(rng, seed, loop_ns)]


def costs_of_threads(rng: random.Random, loop_ns: float) -> dict[str, float]:
    return {
        "jitter": rng.uniform(0.05, 0.3),
        "shared_core": 1.0 if loop_ns else rng.uniform(1.2, 1.6),
        "park": rng.uniform(600, 1500),
        "unpark": rng.uniform(400, 1000),
        "wake": rng.uniform(2000, 8000),
    }


def of_all_runs(rng: random.Random, seed: int, loop_ns: float) -> list[str]:
    return [f"arbitration {rng.choice(ARBITRATIONS)}", f"full {int(bool(loop_ns))}", f"seed {seed + 1}"]


def question(row: Row) -> list[str]:
    if row.table == "shared":
        work = [f"writes {SHARED_FORMS[row.form]}", "inside 0", "outside 0", "lines 1"]
        return [*work, f"run {SHARED_LOCKS[row.lock]} rwlock poll {row.threads} {VIRTUAL_NS}"]
    loop = LOOP_NS[row.machine]
    is_simple = row.form == "simple"
    inside = 0 if is_simple else loop / 10
    work = ["writes 1", f"inside {inside}", f"outside {loop}", f"lines {5 if is_simple else 1}"]
    return [*work, f"run {SMALL_LOCKS[row.lock]} mutex poll {row.threads} {VIRTUAL_NS}"]


def raw_question(lock: str, loop: float, threads: int) -> list[str]:
    return ["writes 1", "inside 0", f"outside {loop}", "lines 0", f"run {lock} raw poll {threads} {VIRTUAL_NS}"]


def answers(lines: list[str]) -> list[dict]:
    done = subprocess.run([PROGRAM], input="\n".join(lines) + "\n", capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return [json.loads(line) for line in done.stdout.splitlines()]


def drawn(
    machine: machines.Machine, loop: float, questions: list[list[str]], draws: int, set_by: Callable = setting
) -> list[list[dict]]:
    """By question, then by draw."""
    asked = [line for q in questions for line in q]

    def one(seed: int) -> list[dict]:
        return answers(set_by(machine, seed, loop) + asked)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(zip(*pool.map(one, range(draws)), strict=True))


def calibrate(draws: int) -> None:
    kinds = {"atomics_fetch_add": "fetch-add-5", "atomic_fetch_xor": "fetch-add", "atomic_cas": "compare-exchange"}
    names = {"Xeon  E5-2680 v4": "e5-2680-v4", "Xeon D-2191": "d-2191"}
    with (HERE / "evidence/raw_atomics.csv").open(encoding="utf-8", newline="") as file:
        every = [r for r in csv.DictReader(file) if r["benchmark"] in kinds]
    for said, name in names.items():
        machine = machines.find(ROOT / "predict/machines", name)
        mine = [r for r in every if r["machine"] == said and int(r["threads"]) <= machine.processors]
        asked = [raw_question(kinds[r["benchmark"]], LOOP_NS[name], int(r["threads"])) for r in mine]
        errors = []
        for r, found in zip(mine, drawn(machine, LOOP_NS[name], asked, draws), strict=True):
            ns = median(f["ns"] * int(r["threads"]) / f["writes"] for f in found)
            errors.append(ns / float(r["ns_per_iteration"]))
            row = f"{name:12} {r['benchmark']:18} {r['threads']:>3} {r['ns_per_iteration']:>9}"
            print(f"{row} {ns:9.0f} {errors[-1]:5.2f}")
        sizes = [math.exp(abs(math.log(e))) for e in errors]
        print(f"{name}: median factor {median(sizes):.2f}, largest {max(sizes):.2f}, of {len(sizes)} rows")


def predict(draws: int) -> None:
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["table", "machine", "lock", "form", "threads", "ns", "low", "high", "draws"])
    every = rows()
    for name in dict.fromkeys(row.machine for row in every):
        mine = [row for row in every if row.machine == name]
        machine = machines.find(ROOT / "predict/machines", name)
        for row, found in zip(
            mine, drawn(machine, LOOP_NS.get(name, 0), list(map(question, mine)), draws), strict=True
        ):
            many = row.threads if row.table == "small" else 1
            each = [f["ns"] * many / max(1, f["reads"] + f["writes"]) for f in found]
            band = Band.of(each)
            out.writerow([row.table, name, row.lock, row.form, row.threads, f"{band.middle:.4g}", f"{band.low:.4g}",
                          f"{band.high:.4g}", " ".join(f"{ns:.4g}" for ns in each)])  # fmt: skip


def judge(predicted: Path, observed: Path) -> None:
    def key(r: dict) -> tuple:
        return r["table"], r["machine"], r["lock"], r["form"], int(r["threads"])

    with predicted.open(encoding="utf-8", newline="") as file:
        said = {key(r): r for r in csv.DictReader(file)}
    with observed.open(encoding="utf-8", newline="") as file:
        seen = {key(r): float(r["ns"]) for r in csv.DictReader(file)}
    both = sorted(said.keys() & seen.keys())
    inside, factors = 0, []
    for k in both:
        ns, low, high = (float(said[k][n]) for n in ("ns", "low", "high"))
        inside += low <= seen[k] <= high
        factors.append(math.exp(abs(math.log(ns / seen[k]))))
        print(*k, f"seen {seen[k]:.4g} said {ns:.4g} [{low:.4g}, {high:.4g}] {ns / seen[k]:.2f}")
    print(f"{len(both)} rows: {inside} inside their bands, median factor {median(factors):.2f}")
    relative = []
    for k in both:
        base = (*k[:2], BASELINES[k[0]], *k[3:])
        if k != base:
            off = float(said[k]["ns"]) / float(said[base]["ns"]) / (seen[k] / seen[base])
            relative.append(math.exp(abs(math.log(off))))
    print(f"ratios to {' and '.join(BASELINES.values())}: median factor {median(relative):.2f} of {len(relative)}")
    right = claimed = differ = 0
    for a, b in combinations(both, 2):
        if (a[0], a[1], a[3], a[4]) != (b[0], b[1], b[3], b[4]):
            continue
        if math.exp(abs(math.log(seen[a] / seen[b]))) <= 1.25:
            continue
        differ += 1
        ratios = [x / y for x, y in zip(*(map(float, said[k]["draws"].split()) for k in (a, b)), strict=True)]
        band = Band.of(ratios)  # as in lockswap.predict.claims
        if band.low <= 1 <= band.high:
            continue
        claimed += 1
        right += (median(ratios) > 1) == (seen[a] > seen[b])
    print(f"pairs of locks that differ by more than 25 %: {differ}, claimed {claimed}, right {right}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["calibrate", "predict", "judge"])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--draws", type=int, default=100)
    given = parser.parse_args()
    if given.what == "judge":
        judge(*given.files)
    else:
        (calibrate if given.what == "calibrate" else predict)(given.draws)


if __name__ == "__main__":
    main()
