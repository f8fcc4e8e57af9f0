#!/usr/bin/env python3
"""Check how large the preload library is without its debug information, so that it doesn't grow unseen.

    check_size.py LIBRARY

The bound is that of gcc 12; what another compiler makes may have SLACK more. If the library has to grow, raise the
bound in the same commit, which then says for what. The exit status is 1 if the library is larger.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

COMPILER = re.compile(rb"GCC: \([^)]*\) 12\.")
# Bytes. Together they are 3 MB.
MOST, SLACK = 2_700_000, 300_000
# Of code for each lock, most is repeated for both types of wait policy, and fast stages for counting, too.
ADVICE = "see 'nm --size-sort -C' for the largest functions, and give a slow stage the counter Count::Slow"


def stripped_size(library: Path) -> int:
    with tempfile.TemporaryDirectory() as folder:
        stripped = Path(folder, library.name)
        subprocess.run(["strip", "-o", stripped, library], check=True)
        return stripped.stat().st_size


def check(library: Path, most: int = MOST, slack: int = SLACK) -> list[str]:
    bound = most if COMPILER.search(library.read_bytes()) else most + slack
    size = stripped_size(library)
    if size <= bound:
        return []
    return [f"{library}:1: {size:,} bytes without debug information, at most {bound:,} are allowed; {ADVICE}"]


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: check_size.py LIBRARY", file=sys.stderr)
        return 2
    findings = check(Path(sys.argv[1]))
    print(
        "\n".join(findings)
        if findings
        else f"size: {stripped_size(Path(sys.argv[1])):,} bytes without debug information"
    )
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
