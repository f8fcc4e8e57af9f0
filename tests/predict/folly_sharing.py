#!/usr/bin/env python3
"""Predicts the order of locks in the rows of folly's tables with more threads than the machine has.

    folly_sharing.py predict KEEP [--draws N] > FILE   predictions, to be committed before the rows are read
    folly_sharing.py judge FILE OBSERVED               FILE beside OBSERVED: evidence/folly_sharing.csv

Only the order of two locks in a row is judged, since the figures depend on how the kernel schedules. Tables and forms
are those of folly.py and folly_rest.py; only `shared` has `pthread_mutex` beside their locks, for writes alone. What is
drawn is what folly_rest.py draws, and the scheduler as `lockswap predict` draws it.
The folder KEEP has each draw's answers, so a run that was interrupted continues.
It needs bin/lockswap-model-peers of the build tree.
"""

import argparse
import csv
import hashlib
import json
import math
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import folly
from folly_rest import MACHINES, SHARES, Row, pairs, read, setting

from lockswap.predict import machines, scheduling
from lockswap.predict.bands import Band
from lockswap.records import durable

SMALL_THREADS = (64, 128)
SHARED_THREADS = 64
# How often each thread has a processor in a run, as in lockswap.predict.scheduling.
TURNS = 10
# A read only waits for the moment in which others change the word, so these runs need less time. Neither does a thread
# with a lock of its own wait, whatever the scheduler does.
READS_SHARE = 0.1
OWN_NS = 100_000


def rows() -> list[Row]:
    found = [
        Row("small", name, lock, form, threads)
        for name in folly.LOOP_NS
        for lock in folly.SMALL_LOCKS
        for form in ("loop", "simple")
        for threads in SMALL_THREADS
    ]
    found += [
        Row("shared", "e5-2660", lock, form, SHARED_THREADS)
        for form in folly.SHARED_FORMS
        for lock in (*folly.SHARED_LOCKS, *(["pthread_mutex"] if form == "all_write" else []))
    ]
    return found + [Row("own", "e5-2660", lock, form, SHARED_THREADS) for form in SHARES for lock in folly.SHARED_LOCKS]


def question(row: Row, processors: int, slice_ns: float) -> list[str]:
    ns = TURNS * slice_ns * math.ceil(row.threads / processors)
    if row.table == "small":
        *work, run = folly.question(row)
        return [*work, "own 0", f"{run.rsplit(' ', 1)[0]} {ns:.0f}"]
    if row.table == "own":
        share, ns = SHARES[row.form], OWN_NS
    else:
        share = folly.SHARED_FORMS[row.form]
        ns *= READS_SHARE if row.form == "reads" else 1
    lock = folly.SHARED_LOCKS.get(row.lock, row.lock)
    work = [f"writes {share}", "inside 0", "outside 0", "lines 1", f"own {int(row.table == 'own')}"]
    return [*work, f"run {lock} rwlock poll {row.threads} {ns:.0f}"]


def answers(keep: Path, machine: machines.Machine, mine: list[Row], seed: int) -> list[dict]:
    """As the folder has them, or else from the model."""
    scheduler = scheduling.sharing(machine, seed)
    slice_ns = float(re.search(r"^cost slice (\d+)$", scheduler, re.MULTILINE)[1])
    lines = [*setting(machine, seed, folly.LOOP_NS.get(machine.name, 0)), *scheduler.splitlines()]
    lines += [line for row in mine for line in question(row, machine.processors, slice_ns)]
    asked = hashlib.sha256(folly.PROGRAM.read_bytes() + "\n".join(lines).encode()).hexdigest()
    file = keep / f"{machine.name}-{seed}-{asked[:16]}.json"
    if not file.exists():
        durable.replace(file, json.dumps(folly.answers(lines)))
    return json.loads(file.read_text(encoding="utf-8"))


def predict(keep: Path, draws: int) -> None:
    keep.mkdir(parents=True, exist_ok=True)
    by_machine: dict[str, list[Row]] = {}
    for row in rows():
        by_machine.setdefault(row.machine, []).append(row)
    found = {name: machines.find(MACHINES, name) for name in by_machine}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        asked = {(name, seed): pool.submit(answers, keep, found[name], by_machine[name], seed)
                 for seed in range(draws) for name in by_machine}  # fmt: skip
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["table", "machine", "lock", "form", "threads", "value", "low", "high", "draws"])
    for name, mine in by_machine.items():
        for i, row in enumerate(mine):
            many = row.threads if row.table == "small" else 1
            runs = [asked[name, seed].result()[i] for seed in range(draws)]
            each = [run["ns"] * many / max(1, run["reads"] + run["writes"]) for run in runs]
            band = Band.of(each)
            key = [row.table, name, row.lock, row.form, row.threads]
            out.writerow([*key, *(f"{v:.4g}" for v in (band.middle, band.low, band.high)),
                          " ".join(f"{v:.4g}" for v in each)])  # fmt: skip


def judge(predicted: Path, observed: Path) -> None:
    said, seen = read(predicted), {row: float(r["value"]) for row, r in read(observed).items()}
    both = sorted(said.keys() & seen.keys(), key=lambda r: (r.table, r.machine, r.form, r.threads, r.lock))
    for row in both:
        key = f"{row.table} {row.machine} {row.form} {row.threads} {row.lock}"
        print(f"{key}, seen {seen[row]:.4g}, said {said[row]['value']} [{said[row]['low']}, {said[row]['high']}]")
    for table, name in dict.fromkeys((row.table, row.machine) for row in both):
        mine = [row for row in both if (row.table, row.machine) == (table, name)]
        print(f"{table} {name}: {len(mine)} rows; {pairs(said, seen, mine)}")
    print(f"all: {len(both)} rows; {pairs(said, seen, both)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["predict", "judge"])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--draws", type=int, default=8)
    given = parser.parse_args()
    if given.what == "judge":
        judge(*given.files)
    else:
        predict(*given.files, given.draws)


if __name__ == "__main__":
    main()
