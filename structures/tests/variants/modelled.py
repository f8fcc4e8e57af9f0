#!/usr/bin/env python3
"""Prints what the locks of variants/list.def are worth on a modelled machine, relative to bravo-ba.

    modelled.py [--machine NAME] [--draws N] [--ms N]

Each cell is the median of the draws, whose constants of the machine differ; each draw compares the locks with each
other. It needs bin/lockswap-model-variants of the build tree. results/notes/2026-11-bravo-variants.md has the table.
"""

import argparse
import sys
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "harness"))

from lockswap.predict import machines, model, workloads  # noqa: E402
from lockswap.predict.bands import Subject  # noqa: E402

PROGRAM = ROOT / "build/bin/lockswap-model-variants"
BASE = "bravo-ba"
# A workload of predict/workloads.toml, its share of writes, and a heading.
COLUMNS = (
    ("rwbench", 0.0, "reads only"),
    ("rwbench", 0.0001, "1 write in 10,000"),
    ("rwbench", 0.01, "1 write in 100"),
    ("rwbench", 0.1, "1 write in 10"),
    ("interference-256", 0.0, "256 locks"),
)


def column(machine: machines.Machine, name: str, writes: float, draws: int, ns: float) -> dict[str, float]:
    """By lock: operations relative to those of the base."""
    locks = model.known_locks(PROGRAM)["rwlock"]
    work = workloads.find(ROOT / "predict/workloads.toml", name)
    subjects = tuple(Subject(lock, "rwlock") for lock in locks)
    question = model.Question(machine, work, writes, subjects, (machine.processors,), draws, ns)
    rates = {point.subject.lock: point.rates for point in model.ask(PROGRAM, question)}
    return {lock: median(a / b for a, b in zip(rates[lock], rates[BASE], strict=True)) for lock in locks}


def main() -> int:
    parser = argparse.ArgumentParser(prog="modelled.py", description=__doc__)
    parser.add_argument("--machine", default="x5-2", help="of predict/machines")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--ms", type=float, default=5, help="of virtual time; BRAVO has its bias on before 1 ms")
    options = parser.parse_args()
    machine = machines.find(ROOT / "predict/machines", options.machine)
    found = [column(machine, name, writes, options.draws, options.ms * 1e6) for name, writes, _ in COLUMNS]
    print(f"{machine.title}; {machine.processors} threads\n")
    print("| lock | " + " | ".join(heading for _, _, heading in COLUMNS) + " |")
    print("| --- |" + " ---: |" * len(COLUMNS))
    for lock in found[0]:
        print(f"| `{lock}` | " + " | ".join(f"{one[lock]:.2f}" for one in found) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
