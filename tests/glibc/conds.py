#!/usr/bin/env python3
"""Runs conds.c, the condition variables with every attribute, under one choice.

conds.py BUILD PROGRAM plain|none|auto|cond-own|policy|profile|audit|fuzz|fuzz-over-auto|mutex-NAME
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

LIBRARY, AUDIT, FUZZ = "liblockswap.so", "liblockswap-audit.so", "liblockswap-fuzz.so"
# What to preload, and the variables; FOLDER stands for a place for records.
CHOICES = {
    "plain": ([], {}),
    "none": ([LIBRARY], {}),
    "auto": ([LIBRARY], {"LOCKSWAP_MUTEX": "auto"}),
    "cond-own": ([LIBRARY], {"LOCKSWAP_COND": "own"}),
    "policy": ([LIBRARY], {"LOCKSWAP_POLICY": "mutex=mcs"}),
    "profile": ([LIBRARY], {"LOCKSWAP_MUTEX": "auto", "LOCKSWAP_PROFILE": "FOLDER"}),
    "audit": ([AUDIT], {"LOCKSWAP_AUDIT": "FOLDER"}),
    "fuzz": ([FUZZ], {"LOCKSWAP_FUZZ": "1,delay=100"}),
    "fuzz-over-auto": ([FUZZ, LIBRARY], {"LOCKSWAP_FUZZ": "1,delay=100", "LOCKSWAP_MUTEX": "auto"}),
}


def environment(build: Path, choice: str, folder: Path) -> dict[str, str]:
    name = choice[len("mutex-") :] if choice.startswith("mutex-") else None
    preload, chosen = CHOICES[choice] if name is None else ([LIBRARY], {"LOCKSWAP_MUTEX": name})
    variables = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_") and k != "LD_PRELOAD"}
    variables.update({k: v.replace("FOLDER", str(folder)) for k, v in chosen.items()})
    if preload:
        variables["LD_PRELOAD"] = ":".join(str(build / library) for library in preload)
    return variables


def main() -> int:
    build, program, choice = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([program], env=environment(Path(build), choice, Path(folder))).returncode


if __name__ == "__main__":
    sys.exit(main())
