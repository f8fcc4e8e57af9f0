#!/usr/bin/env python3
"""Counts the lines of code of the lock product: C, C++, Python and shell, without tests, structures and results.

    count_lines.py [--all]     --all: the tests and structures, too

Counts what git has. A line is a line of the file, comments and blank ones included.
"""

import argparse
import subprocess
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = {".c", ".cc", ".cpp", ".h", ".hpp", ".def", ".in", ".py", ".sh"}
APART = {"tests", "structures", "results"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--all", action="store_true", help="count tests and structures, too")
    apart = set() if parser.parse_args().all else APART
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    files = [Path(name) for name in names if Path(name).suffix in KINDS]
    lines: Counter[str] = Counter()
    for file in files:
        if file.parts[0] not in apart:
            lines[file.parts[0] if len(file.parts) > 1 else "(top)"] += len((ROOT / file).read_bytes().splitlines())
    for folder, number in sorted(lines.items(), key=lambda pair: -pair[1]):
        print(f"{folder:12} {number:7,}")
    print(f"{'in all':12} {sum(lines.values()):7,}")


if __name__ == "__main__":
    main()
