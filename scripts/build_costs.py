#!/usr/bin/env python3
"""Print where the CPU seconds of a build go: by target, and for its dearest units.

Compile each unit that the targets need once more, one after the other, into a scratch folder; links are left out. CPU
seconds of other programs are not counted, but a machine that is busy makes each of them longer: compare two trees by
turns.
"""

import argparse
import collections
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

UNIT = re.compile(r"(?P<folder>.*/)?CMakeFiles/(?P<target>[^/]+)\.dir/(?P<unit>.*)\.o$")


def compiles(build: Path, targets: list[str]) -> list[list[str]]:
    """Return the compiler's commands among those that ninja would run for the targets."""
    lines = subprocess.run(
        ["ninja", "-C", str(build), "-t", "commands", *targets], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    commands = [shlex.split(line) for line in lines if " -c " in line]
    return [command for command in commands if UNIT.match(output_of(command))]


def output_of(command: list[str]) -> str:
    return command[command.index("-o") + 1] if "-o" in command else ""


def cost(command: list[str], build: Path, scratch: Path) -> float:
    """Return the CPU seconds of a compile, without a compiler cache."""
    command = list(command)
    command[command.index("-o") + 1] = str(scratch / "unit.o")
    if "-MF" in command:
        command[command.index("-MF") + 1] = str(scratch / "unit.d")
    process = subprocess.Popen(command, cwd=build, env=os.environ | {"CCACHE_DISABLE": "1"})
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"build_costs.py: failed: {shlex.join(command)}")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", default=["all", "tests"], help="default: all tests")
    parser.add_argument("--build", type=Path, default=Path("build"), metavar="FOLDER", help="a configured build tree")
    parser.add_argument("--only", default="", metavar="REGEX", help="objects to compile, as in 'unit_tests|rw_Ba'")
    parser.add_argument("--top", type=int, default=30, metavar="N", help="units to list (default: 30)")
    args = parser.parse_args()

    units: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for command in compiles(args.build, args.targets):
            if re.search(args.only, output_of(command)):
                units[output_of(command)] = cost(command, args.build, Path(scratch))
    by_target: dict[str, list[float]] = collections.defaultdict(list)
    for unit, seconds in units.items():
        found = UNIT.match(unit)
        by_target[f"{found['folder'] or ''}{found['target']}"].append(seconds)
    print(f"{sum(units.values()):9.1f} CPU seconds for {len(units)} units")
    print("\nby target:")
    for target, costs in sorted(by_target.items(), key=lambda item: -sum(item[1])):
        print(f"{sum(costs):9.1f} {len(costs):4} units  {target}")
    print("\ndearest units:")
    for unit, seconds in sorted(units.items(), key=lambda item: -item[1])[: args.top]:
        print(f"{seconds:9.1f}  {unit}")


if __name__ == "__main__":
    main()
