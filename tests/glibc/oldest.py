#!/usr/bin/env python3
"""Runs inside a root of the oldest Debian that we name: builds the programs of this folder there, with its compiler and
glibc, and runs them and some of its own under each choice.

    oldest.py BUILD     BUILD has the three preload libraries, and the names of the mutexes in the file `mutexes`

One line for each program and choice; exit status 1 if one fails.
"""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from conds import CHOICES, environment  # noqa: E402

WHERE = Path("/tmp/glibc")


def build() -> None:
    WHERE.mkdir(exist_ok=True)
    for words in (
        ["gcc", "conds.c", "-pthread", "-o", WHERE / "conds"],
        ["gcc", "-shared", "-fPIC", "late_library.c", "-pthread", "-o", WHERE / "late_library.so"],
        ["gcc", "late.c", "-ldl", "-o", WHERE / "late"],
        ["gcc", "late.c", "-pthread", "-Wl,--no-as-needed", "-lpthread", "-ldl", "-o", WHERE / "early"],
        ["g++", "no_threads.cpp", "-o", WHERE / "no_threads"],
    ):
        subprocess.run([words[0], "-O2", *words[1:]], cwd=HERE, check=True)


PYTHON = """
import threading
all = [threading.Thread(target=print) for _ in range(9)]
for one in all: one.start()
for one in all: one.join()
"""
# With threads from the start, later, or never; of ours, and of the distribution.
PROGRAMS = {
    "conds": [WHERE / "conds"],
    "late": [WHERE / "late", WHERE / "late_library.so"],
    "early": [WHERE / "early", WHERE / "late_library.so"],
    "no_threads": [WHERE / "no_threads"],
    "true": ["/bin/true"],
    "bash": ["/bin/bash", "-c", "x=$(ls /); [[ -n $x ]]"],
    "python": ["python3", "-c", PYTHON],
}


def main() -> int:
    folder = Path(sys.argv[1])
    mutexes = (folder / "mutexes").read_text().split()
    build()
    failed = 0
    for choice in [*CHOICES, *(f"mutex-{name}" for name in mutexes)]:
        for name, command in PROGRAMS.items():
            variables = environment(folder, choice, WHERE)
            try:
                done = subprocess.run(
                    list(map(str, command)), env=variables, capture_output=True, text=True, timeout=120
                )
                status, said = done.returncode, (done.stdout + done.stderr).strip()
            except subprocess.TimeoutExpired:
                status, said = "hangs", ""
            if status != 0 or "lockswap" in said:
                failed += 1
                print(f"FAILED {choice}: {name}: {status}: {said}")
    version = os.confstr("CS_GNU_LIBC_VERSION")
    print(f"{version}: {len(PROGRAMS)} programs under {len(CHOICES) + len(mutexes)} choices, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
