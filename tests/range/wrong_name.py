"""A wrong LOCKSWAP_RANGE stops a program that links with the library before main, with one line that names all.

usage: wrong_name.py PROGRAM REGISTRY"""

import json
import os
import subprocess
import sys

listed = json.loads(subprocess.run([sys.argv[2]], capture_output=True, text=True, check=True).stdout)["range_locks"]
LOCK = "LOCK"  # what stands for a lock's name


def spellings(row: dict) -> list[str]:
    words = [LOCK] * row["of_rwlocks"] + row["words"]
    return [row["name"], *(f"{row['name']}:{word}" for word in words)]


names = ", ".join(spelling for row in listed for spelling in spellings(row))
NEAR = " or ".join(row["name"] for row in listed if row["name"].startswith("list"))  # two
EXPECTED = f"lockswap: LOCKSWAP_RANGE=list is not a range lock; did you mean {NEAR}? Choose one of: {names}\n"

ran = subprocess.run(
    [sys.argv[1]], env=os.environ | {"LOCKSWAP_RANGE": "list"}, capture_output=True, text=True, check=False
)
problems = [
    *([f"exit status {ran.returncode}, not 2"] if ran.returncode != 2 else []),
    *([f"on standard output, of main: {ran.stdout[:200]}"] if ran.stdout else []),
    *([f"{ran.stderr!r} is not {EXPECTED!r}"] if ran.stderr != EXPECTED else []),
]
print("\n".join(problems))
sys.exit(1 if problems else 0)
