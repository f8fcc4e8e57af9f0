#!/usr/bin/env python3
"""Runs inside a root of the oldest Debian that we name: builds the programs of this folder and of tests/life there,
with its compiler and glibc, and runs them and some of its own under each choice.

    oldest.py BUILD     BUILD has the three preload libraries, and the names of the mutexes in the file `mutexes`

One line for each program and choice; exit status 1 if one fails.
"""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIFE = HERE.parent / "life"
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
        ["gcc", LIFE / "keys.c", "-pthread", "-lrt", "-o", WHERE / "keys"],
        ["g++", "-std=c++20", LIFE / "thread_ends.cpp", "-pthread", "-o", WHERE / "thread_ends"],
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


def run(command: list, variables: dict[str, str]) -> tuple[str, str, str]:
    """Its status, what it printed, and its errors."""
    try:
        done = subprocess.run(list(map(str, command)), env=variables, capture_output=True, text=True, timeout=600)
    except subprocess.TimeoutExpired:
        return "hangs", "", ""
    return str(done.returncode), done.stdout, done.stderr


def comparisons() -> dict[str, tuple[list, tuple[str, str]]]:
    """Programs whose status and output are to be those that they have without lockswap."""
    plain = dict(os.environ)
    cases = run([WHERE / "thread_ends"], plain)[1].split()
    commands = {f"keys {how}": [WHERE / "keys", how] for how in ("sweep", "stray")}
    commands |= {f"thread_ends {case}": [WHERE / "thread_ends", case] for case in cases}
    found = {name: (command, run(command, plain)[:2]) for name, command in commands.items()}
    for name, (_, (_, said)) in found.items():
        if not said or "wrong: " in said:
            sys.exit(f"{name}, without lockswap: {said!r}")
    return found


def main() -> int:
    folder = Path(sys.argv[1])
    mutexes = (folder / "mutexes").read_text().split()
    build()
    compared = comparisons()
    failed = 0

    def fail(choice: str, name: str, what: str) -> None:
        nonlocal failed
        failed += 1
        print(f"FAILED {choice}: {name}: {what}")

    for choice in [*CHOICES, *(f"mutex-{name}" for name in mutexes)]:
        variables = environment(folder, choice, WHERE)
        for name, command in PROGRAMS.items():
            status, said, errors = run(command, variables)
            if status != "0" or "lockswap" in said + errors:
                fail(choice, name, f"{status}: {said}{errors}")
        for name, (command, glibcs) in compared.items():
            *mine, errors = run(command, variables)
            if tuple(mine) != glibcs:
                fail(choice, name, f"{mine}, without lockswap {glibcs}: {errors}")
    version = os.confstr("CS_GNU_LIBC_VERSION")
    programs, choices = len(PROGRAMS) + len(compared), len(CHOICES) + len(mutexes)
    print(f"{version}: {programs} programs under {choices} choices, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
