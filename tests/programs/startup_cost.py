#!/usr/bin/env python3
"""What the preload library adds to the start of a process: a benchmark, no test (a loaded machine would fail it).

    startup_cost.py LIBRARY PROGRAM [ROUNDS]

Interleaves runs with and without the library and prints the median of the paired differences, in microseconds,
and the quartiles. The target is below 1000.
"""

import os
import statistics
import subprocess
import sys
import time


def timed(program: str, environment: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run([program], stdout=subprocess.DEVNULL, env=environment, check=True)
    return (time.perf_counter() - start) * 1e6


def main() -> int:
    if len(sys.argv) not in (3, 4):
        print("usage: startup_cost.py LIBRARY PROGRAM [ROUNDS]", file=sys.stderr)
        return 2
    library, program = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) == 4 else 200
    clean = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_") and k != "LD_PRELOAD"}
    for lock in ("", "pthread", "pf-t", "ba", "bravo-ba"):
        under = clean | {"LD_PRELOAD": library} | ({"LOCKSWAP_RWLOCK": lock} if lock else {})
        differences = [timed(program, under) - timed(program, clean) for _ in range(rounds)]
        low, middle, high = statistics.quantiles(differences, n=4)
        print(
            f"{lock or '(nothing chosen)':17} {middle:7.0f} us more (quartiles {low:.0f} to {high:.0f}, {rounds} pairs)"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
