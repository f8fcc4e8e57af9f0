#!/usr/bin/env python3
"""Print translation units of a build that together contain the given files, for clang-tidy, each after the option that
chooses its checks, and write BUILD/tidy, the commands that compile them, without the options that only gcc knows.

    units_of.py BUILD FILE...

A source file stands for itself; a header that none of these includes adds one unit that does. The includes are
taken from ninja's record of the last build; a header that was not built yet is not covered.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

OF_GCC = re.compile(
    r" -f(track-macro-expansion=\d+|no-diagnostics-show-caret|no-tree-loop-distribute-patterns)\b"
    r"| -Winvalid-pch -include \S+/cmake_pch\.hxx\b"  # the sources include what is precompiled for gcc
)

ROOT = Path(__file__).resolve().parent.parent
OUTSIDE_THE_PRODUCT = re.compile(r"(build/)?(structures/)?(apps|tests)/")


def is_product(unit: Path) -> bool:
    return not OUTSIDE_THE_PRODUCT.match(str(unit.relative_to(ROOT)))


def includes(build: Path) -> dict[str, set[Path]]:
    """Object file -> the files that went into it."""
    lines = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True).stdout.splitlines()
    deps: dict[str, set[Path]] = {}
    seen: set[Path] = set()
    for line in lines:
        if line.startswith("    "):
            seen.add((build / line.strip()).resolve())
        elif ": #deps" in line:
            seen = deps[line.partition(":")[0]] = set()
    return deps


def units(build: Path, files: set[Path]) -> list[Path]:
    database = json.loads((build / "compile_commands.json").read_text())
    # Without headers of C, which clang doesn't take for C++, and precompiled ones.
    database = [e for e in database if not re.search(" -fpermissive | -x c\\+\\+-header ", e["command"])]
    sources = {re.search(r" -o (\S+)", e["command"])[1]: Path(e["file"]).resolve() for e in database}
    chosen = sorted(files & set(sources.values()))
    deps = includes(build)
    contents = {sources[target]: files & seen for target, seen in deps.items() if target in sources}
    left = files - set(chosen)
    for unit in chosen:
        left -= contents.get(unit, set())
    while left:
        fitting = sorted(unit for unit, seen in contents.items() if seen & left)
        if not fitting:
            break
        # The product's if there is one, since it gets all checks.
        best = max(fitting, key=lambda unit: (is_product(unit), len(contents[unit] & left)))
        chosen.append(best)
        left -= contents[best]
    return chosen


def write_database(build: Path) -> None:
    (build / "tidy").mkdir(exist_ok=True)
    commands = (build / "compile_commands.json").read_text()
    (build / "tidy/compile_commands.json").write_text(OF_GCC.sub("", commands))


if __name__ == "__main__":
    write_database(Path(sys.argv[1]).resolve())
    for unit in units(Path(sys.argv[1]).resolve(), {Path(name).resolve() for name in sys.argv[2:]}):
        # The path-sensitive analyzer takes nine tenths of the time. Each test and benchmark would have it walk through
        # the locks and structures that it is built for once more.
        print("--checks=" if is_product(unit) else "--checks=-clang-analyzer-*", unit, sep="\n")
