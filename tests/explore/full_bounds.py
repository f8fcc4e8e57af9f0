"""Explores a sixty-fourth of the cases at their full bounds, each for 20 s of processor time at most. It is always
the same sixty-fourth; for another one, or all: lockswap-explore run [--slice K/64].

full_bounds.py [--explorer FILE] BUILD-DIRECTORY"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from explorer import add_option

PARTS = 64
SECONDS = 20


def main() -> int:
    parser = argparse.ArgumentParser(prog="full_bounds.py", description=__doc__)
    add_option(parser)
    parser.add_argument("build", type=Path, metavar="BUILD-DIRECTORY")
    options = parser.parse_args()
    explorer = options.explorer.in_build(options.build)
    command = [explorer, "run", "--seconds", str(SECONDS), "--slice", f"0/{PARTS}"]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
