"""Explores a sixty-fourth of the cases at their full bounds, each for 20 s of processor time at most.

full_bounds.py BUILD-DIRECTORY

Which one depends on the commit. All of them: lockswap-explore run."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from orders import git

PARTS = 64
SECONDS = 20


def main() -> int:
    parser = argparse.ArgumentParser(prog="full_bounds.py", description=__doc__)
    parser.add_argument("build", type=Path, metavar="BUILD-DIRECTORY")
    explorer = parser.parse_args().build / "bin/lockswap-explore"
    turn = int(git("rev-list", "--count", "HEAD") or "0") % PARTS
    print(f"part {turn} of 0 to {PARTS - 1}, chosen by the number of commits", flush=True)
    command = [explorer, "run", "--seconds", str(SECONDS), "--slice", f"{turn}/{PARTS}"]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
