"""Checks esbmc.cpp, the shipped PF-T on a small platform, with ESBMC; and that it finds faults planted in copies of it.

esbmc.py PATH-OF-ESBMC; status 1 if a verdict is not as it must be."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parents[1] / "src"
LIBRARY = HERE / "include"  # what ESBMC's C++ library lacks
LOCK = "locks/rw/pf-t.h"
# Loops are followed twice, and each thread is switched away from twice at most.
BOUNDS = ["--unwind", "3", "--no-unwinding-assertions", "--context-bound", "2"]

# (what, how many of the three threads write, text in the lock, what it becomes)
FAULTS = (
    ("a writer does not wait for readers", 1, "if (all_left_at(target)) [[likely]]\n      return;", "return;"),
    ("a reader is in at once", 1, "return (seen & kPresent) == 0 ? 0 :", "return true ? 0 :"),
    ("a writer does not wait for its turn", 2, "if (!my_turn(word_.load(acquire))) {", "if (false) {"),
)


def check(esbmc: str, writers: int, include: list[Path]) -> tuple[bool, str]:
    """True: nothing found. The text says how long it took."""
    start = time.monotonic()
    command = [esbmc, HERE / "esbmc.cpp", "--std", "c++20", f"-DWRITERS={writers}", *BOUNDS]
    for folder in [*include, LIBRARY]:
        command += ["-I", folder]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    text = f"{time.monotonic() - start:.1f} s"
    output = ran.stdout + ran.stderr
    if "VERIFICATION SUCCESSFUL" in output:
        return True, text
    if "VERIFICATION FAILED" in output:
        return False, text
    sys.exit(f"ESBMC says neither yes nor no:\n{output[-2000:]}")


def main() -> int:
    esbmc = sys.argv[1]
    failed = 0

    def judge(what: str, writers: int, include: list[Path], wanted: bool) -> None:
        nonlocal failed
        passes, text = check(esbmc, writers, include)
        failed += passes != wanted
        verdict = "ok" if passes == wanted else "WRONG"
        print(f"{verdict:6} {what}: {'nothing found' if passes else 'found'}, {text}", flush=True)

    judge("PF-T, 1 writer and 2 readers", 1, [SOURCES], True)
    judge("PF-T, 2 writers and 1 reader", 2, [SOURCES], True)
    text = (SOURCES / LOCK).read_text(encoding="utf-8")
    for what, writers, old, new in FAULTS:
        if text.count(old) != 1:
            sys.exit(f"{LOCK}: this occurs {text.count(old)} times, not once:\n{old}")
        with tempfile.TemporaryDirectory() as work:
            copy = Path(work) / LOCK
            copy.parent.mkdir(parents=True)
            copy.write_text(text.replace(old, new), encoding="utf-8")
            judge(f"PF-T, {what}", writers, [Path(work), SOURCES], False)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
