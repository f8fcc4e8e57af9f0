#!/usr/bin/env python3
"""More threads than processors: what was predicted of the order of locks, and what these do here.

  sharing.py measure [ROUNDS] > FILE.csv     rwbench and pairs with 4 and 8 threads on this machine's processors
  sharing.py judge FILE.csv                  by the predictions in results/predictions

A claim is right if the lock that it names makes more operations per second, in the medians of the rounds. If others use
the processors, too, operations per second of the processor time are the better measure, so both are counted.
"""

import csv
import json
import os
import random
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "harness"))

from lockswap.findings.stats import quartiles  # noqa: E402
from lockswap.predict.model import GLIBCS  # noqa: E402

BUILD = ROOT / "build"
PREDICTED = ROOT / "results/predictions"
STEM = "2026-11-29-sharing"
SECONDS = "0.3"
THREADS = (4, 8)
_RATES = re.compile(r"^ops_s (\d+).* ops_cpu (\d+)", re.MULTILINE)
# By the names of the predictions: the benchmark, and the variable that swaps its locks.
QUESTIONS = {
    "rwbench-10": (["rwbench", "--writes", "0.1"], "LOCKSWAP_RWLOCK"),
    "rwbench-50": (["rwbench", "--writes", "0.5"], "LOCKSWAP_RWLOCK"),
    "pairs": (["pairs", "--mutex"], "LOCKSWAP_MUTEX"),
}


@dataclass(frozen=True)
class Score:
    claims: int
    right: int
    right_by_processor_time: int


def predicted(question: str) -> dict:
    return json.loads((PREDICTED / f"{STEM}-{question}.json").read_text(encoding="utf-8"))


def _locks(question: str) -> list[str]:
    claims = predicted(question)["claims"]
    return sorted({claim[which] for claim in claims for which in ("faster", "slower")})


def _run(question: str, lock: str, threads: int) -> tuple[int, int]:
    (program, *words), variable = QUESTIONS[question]
    env = {name: value for name, value in os.environ.items() if not name.startswith("LOCKSWAP_")}
    if lock != GLIBCS:
        env |= {"LD_PRELOAD": str(BUILD / "liblockswap.so"), variable: lock}
    line = [BUILD / "apps" / program, *words, "--threads", str(threads), "--seconds", SECONDS, "--tails", "0"]
    done = subprocess.run(line, env=env, capture_output=True, text=True, check=True)
    return tuple(map(int, _RATES.search(done.stdout).groups()))


def measure(rounds: int) -> None:
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(("question", "lock", "threads", "rounds", "per_second", "low", "high", "per_cpu_second"))
    for question in QUESTIONS:
        places = [(lock, threads) for lock in _locks(question) for threads in THREADS]
        found: dict[tuple[str, int], list[tuple[int, int]]] = {place: [] for place in places}
        for number in range(rounds):
            for place in random.Random(number).sample(places, len(places)):
                found[place].append(_run(question, *place))
        for (lock, threads), runs in found.items():
            rates, by_time = zip(*runs, strict=True)
            low, high = quartiles(rates)
            out.writerow((question, lock, threads, rounds, *map(round, (median(rates), low, high, median(by_time)))))


def judge(file: Path) -> dict[str, Score]:
    with file.open(encoding="utf-8", newline="") as lines:
        rows = {(row["question"], row["lock"], int(row["threads"])): row for row in csv.DictReader(lines)}

    def right(question: str, claim: dict, measure: str) -> bool:
        faster, slower = (
            float(rows[question, claim[which], claim["threads"]][measure]) for which in ("faster", "slower")
        )
        return faster > slower

    return {
        question: Score(
            len(claims),
            sum(right(question, claim, "per_second") for claim in claims),
            sum(right(question, claim, "per_cpu_second") for claim in claims),
        )
        for question in QUESTIONS
        for claims in [predicted(question)["claims"]]
    }


def main() -> None:
    if sys.argv[1:2] == ["measure"]:
        measure(int(sys.argv[2]) if len(sys.argv) > 2 else 9)
    elif sys.argv[1:2] == ["judge"] and len(sys.argv) == 3:
        for question, score in judge(Path(sys.argv[2])).items():
            print(
                f"{question}: {score.claims} claims, {score.right} right; by processor time "
                f"{score.right_by_processor_time}"
            )
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
