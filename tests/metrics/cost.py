#!/usr/bin/env python3
"""What LOCKSWAP_METRICS costs a program: processor time per operation with it, to the same without, in pairs by turns.

    cost.py [--pairs N] [--seconds S] [--rwlock LOCK] [--mutex LOCK] [--holds] [openssl | db_bench | memcached]...

Both sides run under the library, with the same locks, by default glibc's. It needs a quiet machine; without words it
takes some two minutes. For each program: the mean ratio of the pairs, with the 95 % interval of that mean (of
logarithms, by Student). memcached's time is that of the server. Exit status 1 if an interval doesn't end at 1.02 or
below, and 2 if a program is missing.
"""

import argparse
import math
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/profile"))

from overhead import LIBRARY, NEEDS, PROGRAMS, Ratio, Result, found  # noqa: E402

TARGET = 1.02


def processor_time(name: str, result: Result) -> float:
    """Per operation. db_bench runs for a given time, and prints the time of an operation."""
    return result.cpu_s * result.times["wall"] if name == "db_bench" else result.times["processor"]


def measure(name: str, seconds: float, pairs: int, locks: dict[str, str], counted: dict[str, str]) -> Ratio:
    logs = []
    plain = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")} | locks
    plain["LD_PRELOAD"] = str(LIBRARY)
    for pair in range(pairs):
        times = {}
        with tempfile.TemporaryDirectory(prefix="lockswap-overhead-") as folder:
            sides = {False: plain, True: plain | {"LOCKSWAP_METRICS": folder} | counted}
            for counts in (True, False) if pair % 2 else (False, True):
                times[counts] = processor_time(name, PROGRAMS[name](sides[counts], seconds))
            assert any(Path(folder).glob("*.lockmetrics")), "nothing was counted"
        logs.append(math.log(times[True] / times[False]))
    return Ratio.of(logs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rwlock", default="")
    parser.add_argument("--mutex", default="")
    parser.add_argument("--holds", action="store_true")
    parser.add_argument("programs", nargs="*", choices=[*PROGRAMS, []], default=[])
    words = parser.parse_args()
    locks = {"LOCKSWAP_RWLOCK": words.rwlock, "LOCKSWAP_MUTEX": words.mutex}
    status = 0
    for name in words.programs or PROGRAMS:
        if missing := [tool for tool in NEEDS[name] if found(tool) is None]:
            print(f"{name}: not measured: {' and '.join(missing)} not found", file=sys.stderr)
            status = 2
            continue
        ratio = measure(name, words.seconds, words.pairs, locks, {"LOCKSWAP_METRICS_HOLDS": str(int(words.holds))})
        verdict = "met" if ratio.high <= TARGET else "missed" if ratio.low > TARGET else "not decided"
        print(f"{name:9} {ratio} in {ratio.pairs} pairs; at most {TARGET}: {verdict}", flush=True)
        if ratio.high > TARGET:
            status = max(status, 1)
    return status


if __name__ == "__main__":
    sys.exit(main())
