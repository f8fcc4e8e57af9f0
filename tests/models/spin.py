"""Checks the models in this folder with spin: the right one exhaustively, and that each wrong variant fails.

spin.py [WORK-DIRECTORY]; status 1 if one is not as it must be."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MODEL = Path(__file__).with_name("bravo.pml")
DEEPEST = 2_000_000  # steps; pan says if a search was cut
MEGABYTES = 6000


def check(work: Path, options: list[str]) -> tuple[bool, str]:
    """True: spin went through all states and found nothing. The text says what happened."""
    start = time.monotonic()
    subprocess.run(["spin", *options, "-a", MODEL], cwd=work, check=True, capture_output=True, text=True)
    # SAFETY: no cycles are looked for. COLLAPSE: states are stored compressed, without loss.
    compile_pan = ["cc", "-O2", "-w", "-DSAFETY", "-DCOLLAPSE", f"-DMEMLIM={MEGABYTES}", "-o", "pan", "pan.c"]
    subprocess.run(compile_pan, cwd=work, check=True, capture_output=True, text=True)
    ran = subprocess.run(["./pan", f"-m{DEEPEST}"], cwd=work, check=True, capture_output=True, text=True).stdout
    errors = re.search(r"errors: (\d+)", ran)
    states = re.search(r"([0-9.e+]+) states, stored", ran)
    why = re.search(r"pan:1: (.*?)(?: \(at depth \d+\))?$", ran, re.MULTILINE)
    if not errors or not states:
        sys.exit(f"spin's output is not as expected:\n{ran}")
    cut = re.search(r"Search not completed|max search depth too small|out of memory", ran)
    text = f"{float(states[1]):,.0f} states, {time.monotonic() - start:.1f} s"
    if errors[1] != "0":
        return False, f"{why[1] if why else 'an error'}; {text}"
    if cut:
        sys.exit(f"spin could not go through all states: {cut[0]}\n{ran}")
    return True, text


def main() -> int:
    wrong = sorted(set(re.findall(r"\bWRONG_\w+", MODEL.read_text(encoding="utf-8"))))
    failed = 0
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as work:
        for options in ([], *([f"-D{fault}"] for fault in wrong)):
            passes, text = check(Path(work), options)
            good = passes == (not options)
            failed += not good
            print(f"{'ok' if good else 'WRONG':6} {MODEL.name} {' '.join(options) or 'as it is'}: {text}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
