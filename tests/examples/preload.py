#!/usr/bin/env python3
"""Runs the example of a preload: by itself, with all of its rwlocks swapped, and with the one that its policy names.

preload.py PROGRAM LIBRARY POLICY; status 1 if it says something else than it should."""

import os
import re
import subprocess
import sys

program, library, policy = sys.argv[1:4]
clean = {name: value for name, value in os.environ.items() if not name.startswith(("LOCKSWAP_", "LD_"))}
swapped = {"LD_PRELOAD": library, "LOCKSWAP_STATS": "1"}
RUNS = {
    "glibc": ({}, r"^$"),
    "all rwlocks": (swapped | {"LOCKSWAP_RWLOCK": "auto"}, r"rwlock \S+ \(auto\), .* 12400 calls seen, 1 locks"),
    "policy": (swapped | {"LOCKSWAP_POLICY": policy}, r"symbol=table_lock rwlock=\w+: 1 rwlocks, 0 mutexes"),
}
failed = False
for name, (variables, report) in RUNS.items():
    ran = subprocess.run([program], env=clean | variables, capture_output=True, text=True, check=False)
    good = ran.returncode == 0 and ran.stdout == "6000 look-ups, 200 changes, 0 mismatches\n"
    good = good and re.search(report, ran.stderr) is not None
    print(f"{'ok' if good else 'FAILED'} {name}: status {ran.returncode}\n{ran.stdout}{ran.stderr}", end="")
    failed |= not good
sys.exit(1 if failed else 0)
