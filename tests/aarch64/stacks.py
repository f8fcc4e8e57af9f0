#!/usr/bin/env python3
"""The stacks that a profile has of a program: inner, middle and outer must follow each other.

    stacks.py LIBRARY FOLDER_OF_READERS PROGRAM

Exit status 1 if they don't.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import emulated

WANTED = ["inner", "middle", "outer"]


def run(*command: object, **variables: str) -> str:
    return subprocess.run(
        emulated.command(*command), check=True, capture_output=True, text=True, env=os.environ | variables
    ).stdout


def functions_of(program: Path) -> list[tuple[int, int, str]]:
    found = []
    for line in subprocess.run(
        ["readelf", "-sW", program], check=True, capture_output=True, text=True
    ).stdout.splitlines():
        field = line.split()
        if len(field) == 8 and field[3] == "FUNC" and field[2] != "0":
            found.append((int(field[1], 16), int(field[2], 0), field[7]))
    return found


def stacks_of(profile: dict, program: Path) -> list[list[str]]:
    """The program's functions in each stack, the innermost first."""
    functions = functions_of(program)
    stacks = []
    for process in profile["processes"]:
        own = {n for n, module in enumerate(process["modules"]) if Path(module["path"]).name == program.name}
        for stack in process["stacks"]:
            at = [address - 1 for module, address in stack["frames"] if module in own]  # within the call
            stacks.append([next((name for a, size, name in functions if a <= pc < a + size), "?") for pc in at])
    return stacks


def main() -> int:
    if len(sys.argv) != 4:
        print("usage: stacks.py LIBRARY FOLDER_OF_READERS PROGRAM", file=sys.stderr)
        return 2
    library, readers, program = (Path(argument).resolve() for argument in sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        run(program, LD_PRELOAD=str(library), LOCKSWAP_PROFILE=folder)
        profile = json.loads(run(readers / "lockswap-profile-read", *Path(folder).iterdir()))
    stacks = stacks_of(profile, program)
    good = [stack for stack in stacks if stack[:3] == WANTED and "work" in stack]
    if not good:
        print(f"FAILED no stack has {', '.join(WANTED)} and work: {stacks}")
        return 1
    print(f"{len(good)} of {len(stacks)} stacks have {', '.join(WANTED)} and work")
    return 0


if __name__ == "__main__":
    sys.exit(main())
