#!/usr/bin/env python3
"""Checks that each lock of the registry is explored under each wait policy.

coverage.py BIN: the folder of lockswap-registry and lockswap-explore.
"""

import json
import subprocess
import sys
from pathlib import Path

# What every lock and wait policy must have a case of.
SCRIPTS = ("1w2r", "2w1r")
MUTEX_SCRIPTS = ("3w", "timed")
# None of their code is ours.
NOT_OURS = dict.fromkeys(("pthread", "pthread-wp", "mutex/pthread"), "glibc's own functions, passed through")
NOT_OURS |= dict.fromkeys(("auto", "mutex/auto"), "one of the others")
# Other names for the code of these.
NOT_OURS |= {"mutex/ba": "see mutex/mcs", "mutex/bravo-ba": "see mutex/mcs", "mutex/rlu": "see mutex/ticket"}


def output_of(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> int:
    folder = Path(sys.argv[1])
    registry = json.loads(output_of(str(folder / "lockswap-registry")))
    cases = set(output_of(str(folder / "lockswap-explore"), "list").split())
    locks = [(lock["name"], SCRIPTS) for lock in registry["rwlocks"]]
    locks += [(f"mutex/{mutex['name']}", MUTEX_SCRIPTS) for mutex in registry["mutexes"]]
    waits = [wait["name"] for wait in registry["waits"]]
    missing = 0
    for lock, scripts in locks:
        if lock in NOT_OURS:
            print(f"{lock}: not explored: {NOT_OURS[lock]}")
            continue
        wanted = [f"{lock}/{wait}/{script}" for wait in waits for script in scripts]
        for name in wanted:
            if name not in cases:
                print(f"{name}: no such case; see all_cases() in tests/explore/", file=sys.stderr)
                missing += 1
        own = [case for case in cases if case.startswith((f"{lock}/", f"{lock}-", f"core/{lock}/"))]
        print(f"{lock}: {len(own)} cases, {len(wanted)} of them demanded")
    for lock in (row["name"] for row in registry["range_locks"]):
        for wait in waits:
            if f"{lock}/{wait}/overlap" not in cases:
                print(f"{lock}/{wait}/overlap: no such case; see tests/explore/range_cases.cpp", file=sys.stderr)
                missing += 1
        print(f"{lock}: {sum(case.startswith((f'{lock}/', f'{lock}-')) for case in cases)} cases")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
