#!/usr/bin/env python3
"""Predicts the rows of folly's tables that folly.py leaves out, with what is drawn beside since then.

    folly_rest.py predict [--draws N] [--tables T...] > FILE   predictions, to be committed before the rows are read
    folly_rest.py judge FILE OBSERVED                          FILE beside OBSERVED: evidence/folly_rest.csv

Tables: `own` and `ping_pong` are of folly/test/SharedMutexTest.cpp, `fair` of
folly/synchronization/test/SmallLocksBenchmark.cpp.

Forms: `Npct` has a lock for each thread, which no other takes, and N % writes, in nanoseconds of an operation of the
whole. `burnK` is a round of the two threads that hand three locks to each other, with K rounds of a loop in it; it is
judged by its ratio to the table's first lock, since the loop's time isn't known. `fairness` is the standard deviation
of the threads' acquisitions of one lock, as a share of their mean.
It needs bin/lockswap-model-peers of the build tree.
"""

import argparse
import csv
import random
import sys
from dataclasses import dataclass
from itertools import combinations
from math import exp, log
from pathlib import Path
from statistics import median

import folly

from lockswap.predict import machines
from lockswap.predict.bands import Band
from lockswap.predict.draws import FITTED, machine_lines, placed

MACHINES = folly.ROOT / "predict/machines"
SHARES = {"50pct": 0.5, "10pct": 0.1, "1pct": 0.01}
BURNS = {"burn0": 0, "burn100k": 100_000, "burn300k": 300_000, "burn1M": 1_000_000}
OWN_THREADS = (2, 4, 8, 16, 32)
FAIR_THREADS = (2, 4, 8, 16, 32, 64)
BASELINES = {"own": "folly_rwspin", "ping_pong": "folly_rwspin", "fair": "std::mutex"}


@dataclass(frozen=True)
class Row:
    table: str
    machine: str
    lock: str
    form: str
    threads: int


def rows() -> list[Row]:
    found = [
        Row("own", "e5-2660", lock, form, n) for lock in folly.SHARED_LOCKS for form in SHARES for n in OWN_THREADS
    ]
    found += [Row("ping_pong", "e5-2660", lock, form, 2) for lock in folly.SHARED_LOCKS for form in BURNS]
    for name in folly.LOOP_NS:
        most = machines.find(MACHINES, name).processors
        found += [
            Row("fair", name, lock, "fairness", n) for lock in folly.SMALL_LOCKS for n in FAIR_THREADS if n <= most
        ]
    return found


def setting(machine: machines.Machine, seed: int, loop_ns: float) -> list[str]:
    """As folly.py's, and drawn beside: a core's frequency, where threads are put, and how much a transfer varies."""
    rng = random.Random(f"rest {machine.name} {seed}")
    order = placed(machine, rng)
    if loop_ns:  # every hardware thread is busy
        rng.shuffle(order)
    factor, ghz = rng.lognormvariate(0, machine.spread), rng.uniform(*machine.ghz)
    costs = FITTED | {
        "hit": rng.uniform(4, 5) / ghz,
        "step": rng.uniform(3, 7) / ghz,
        "serve": rng.uniform(3, 8),
        "noise": rng.uniform(0.1, 0.4),
        **folly.costs_of_threads(rng, loop_ns),
    }
    return [*machine_lines(machine, order, factor, costs), *folly.of_all_runs(rng, seed, loop_ns)]


def question(row: Row) -> list[str]:
    if row.table == "own":
        work = [f"writes {SHARES[row.form]}", "inside 0", "outside 0", "lines 1", "own 1"]
        return [*work, f"run {folly.SHARED_LOCKS[row.lock]} rwlock poll {row.threads} 100000"]
    if row.table == "ping_pong":
        rounds = BURNS[row.form]
        work = [
            "writes 0",
            "inside 0",
            f"outside {rounds / 2}",
            "lines 0",
            "own 0",
        ]  # 2 rounds of the loop a nanosecond
        return [*work, f"run {folly.SHARED_LOCKS[row.lock]} ping-pong poll 2 {200_000 + 60 * rounds}"]
    loop = folly.LOOP_NS[row.machine]
    work = ["writes 1", f"inside {loop / 10}", f"outside {loop}", "lines 1", "own 0"]
    return [*work, f"run {folly.SMALL_LOCKS[row.lock]} mutex poll {row.threads} 3000000"]


def value(row: Row, found: dict) -> float:
    if row.table == "fair":
        return found["deviation"]
    return found["ns"] / max(1, found["reads"] + found["writes"]) * (2 if row.table == "ping_pong" else 1)


def predict(draws: int, tables: list[str]) -> None:
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["table", "machine", "lock", "form", "threads", "value", "low", "high", "draws"])
    every = [row for row in rows() if row.table in tables]
    for name in dict.fromkeys(row.machine for row in every):
        mine, machine = [row for row in every if row.machine == name], machines.find(MACHINES, name)
        asked = list(map(question, mine))
        for row, found in zip(
            mine, folly.drawn(machine, folly.LOOP_NS.get(name, 0), asked, draws, setting), strict=True
        ):
            each = [value(row, f) for f in found]
            band = Band.of(each)
            key = [row.table, name, row.lock, row.form, row.threads]
            out.writerow(
                [*key, *(f"{v:.4g}" for v in (band.middle, band.low, band.high)), " ".join(f"{v:.4g}" for v in each)]
            )


def read(file: Path) -> dict[Row, dict]:
    with file.open(encoding="utf-8", newline="") as lines:
        return {
            Row(r["table"], r["machine"], r["lock"], r["form"], int(r["threads"])): r for r in csv.DictReader(lines)
        }


def band_of(said: dict[Row, dict], row: Row) -> Band:
    """Of the value, or of its ratio to the first lock's for work whose time isn't known."""
    mine = [float(v) for v in said[row]["draws"].split()]
    if row.table != "ping_pong":
        return Band.of(mine)
    base = [float(v) for v in said[base_of(row)]["draws"].split()]
    return Band.of([a / b for a, b in zip(mine, base, strict=True)])


def base_of(row: Row) -> Row:
    return Row(row.table, row.machine, BASELINES[row.table], row.form, row.threads)


def judge(predicted: Path, observed: Path) -> None:
    said, seen = read(predicted), {row: float(r["value"]) for row, r in read(observed).items()}
    both = sorted(said.keys() & seen.keys(), key=lambda r: (r.table, r.machine, r.form, r.threads, r.lock))
    for table in BASELINES:
        mine = [r for r in both if r.table == table and (table != "ping_pong" or r != base_of(r))]
        inside, factors = 0, []
        for row in mine:
            band = band_of(said, row)
            true = seen[row] / (seen[base_of(row)] if table == "ping_pong" else 1)
            inside += band.low <= true <= band.high
            factors.append(exp(abs(log(band.middle / true))) if band.middle > 0 and true > 0 else float("inf"))
            key = f"{row.table} {row.machine} {row.lock} {row.form} {row.threads}"
            print(f"{key} seen {true:.4g} said {band.middle:.4g} [{band.low:.4g}, {band.high:.4g}]")
        if mine:
            print(f"{table}: {len(mine)} rows, {inside} inside their bands, median factor {median(factors):.2f}")
            print(
                f"{table}: {pairs(said, seen, mine if table != 'ping_pong' else [r for r in both if r.table == table])}"
            )


def pairs(said: dict[Row, dict], seen: dict[Row, float], mine: list[Row]) -> str:
    """As in lockswap.predict.claims."""
    differ = claimed = right = 0
    for a, b in combinations(mine, 2):
        if (a.machine, a.form, a.threads) != (b.machine, b.form, b.threads) or min(seen[a], seen[b]) <= 0:
            continue
        if max(seen[a] / seen[b], seen[b] / seen[a]) <= 1.25:
            continue
        differ += 1
        drawn = [[float(v) for v in said[row]["draws"].split()] for row in (a, b)]
        ratios = [x / y for x, y in zip(*drawn, strict=True) if y > 0]
        band = Band.of(ratios) if len(ratios) > 1 else Band(1, 1, 1)
        if band.low > 1 or band.high < 1:
            claimed += 1
            right += (band.low > 1) == (seen[a] > seen[b])
    return f"pairs of locks that differ by more than 25 %: {differ}, claimed {claimed}, right {right}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["predict", "judge"])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--tables", nargs="*", choices=list(BASELINES), default=list(BASELINES))
    given = parser.parse_args()
    if given.what == "judge":
        judge(*given.files)
    else:
        predict(given.draws, given.tables)


if __name__ == "__main__":
    main()
