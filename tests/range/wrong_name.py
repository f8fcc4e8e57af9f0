"""A wrong LOCKSWAP_RANGE stops a program that links with the library before main, with one line that names all.

usage: wrong_name.py PROGRAM"""

import os
import subprocess
import sys

OF_RWLOCKS = ", or with ':' and a reader-writer lock"
EXPECTED = (
    "lockswap: LOCKSWAP_RANGE=list is no range lock; choose one of: list-ex, list-rw, sharded-rw, lustre-ex, "
    f"kernel-rw, pnova-rw{OF_RWLOCKS}, rwlock{OF_RWLOCKS}\n"
)

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
