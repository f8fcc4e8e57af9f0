"""Explores a sixty-fourth of the cases at their full bounds, each for 20 s of processor time at most. It is always
the same sixty-fourth; for another one, or all: lockswap-explore run [--slice K/64].

full_bounds.py BUILD-DIRECTORY"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

PARTS = 64
SECONDS = 20


def main() -> int:
    parser = argparse.ArgumentParser(prog="full_bounds.py", description=__doc__)
    parser.add_argument("build", type=Path, metavar="BUILD-DIRECTORY")
    explorer = parser.parse_args().build / "bin/lockswap-explore"
    command = [explorer, "run", "--seconds", str(SECONDS), "--slice", f"0/{PARTS}"]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
