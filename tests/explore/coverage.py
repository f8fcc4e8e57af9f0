#!/usr/bin/env python3
"""Checks that each lock of the registry is explored under each wait policy. The policy yield is the source of spin
(wait/spin.h): the machine is asked for the same wait, so there is nothing to explore under its name.

coverage.py BIN: the folder of lockswap-registry and lockswap-explore.
"""

import json
import subprocess
import sys
from pathlib import Path

# What every lock and wait policy must have a case of.
SCRIPTS = ("1w2r", "2w1r")
MUTEX_SCRIPTS = ("3w", "timed")


def explored_elsewhere(row: dict) -> str:
    """Why there is nothing to explore under this name, if so."""
    if row["passes_through"]:
        return "glibc's own functions, passed through"
    if row["chosen"]:
        return "one of the others"
    same = row.get("same_code_as")
    return f"see mutex/{same}" if same else ""


def output_of(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> int:
    folder = Path(sys.argv[1])
    registry = json.loads(output_of(str(folder / "lockswap-registry")))
    cases = set(output_of(str(folder / "lockswap-explore"), "list").split())
    locks = [(row["name"], SCRIPTS, row) for row in registry["rwlocks"]]
    locks += [(f"mutex/{row['name']}", MUTEX_SCRIPTS, row) for row in registry["mutexes"]]
    waits = [wait["name"] for wait in registry["waits"] if wait["name"] != "yield"]
    missing = 0
    for lock, scripts, row in locks:
        if why := explored_elsewhere(row):
            print(f"{lock}: not explored: {why}")
            continue
        wanted = [f"{lock}/{wait}/{script}" for wait in waits for script in scripts]
        for name in wanted:
            if name not in cases:
                print(f"{name}: no such case; see tests/explore/rw_cases.h and mutex_cases.h", file=sys.stderr)
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
