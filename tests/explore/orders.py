"""Weakens the memory orders of the locks in turn; those that survive are the ones docs/memory-ordering.md
lists, no more and no fewer.

orders.py [--quick] BUILD-DIRECTORY

--quick: the orders in files that differ from main, and a twenty-fourth of the others, which depends on the commit; the
listed ones are not tried again. Both check that every order in the sources is tried or listed."""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from patched import ROOT

LISTED = ROOT / "docs/memory-ordering.md"
FOLDERS = ("src/locks", "src/wait", "src/readers", "src/reclaim", "src/range", "src/posix")
SLICES = 24
ORDER = re.compile(r"\b(acquire|release|acq_rel|seq_cst)\b")
PLACE = re.compile(r"^place    (\S+) .*  \1:(\d+)$", re.MULTILINE)


def git(*words: str) -> str:
    """What git says, or nothing where there is none."""
    ran = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return ran.stdout.strip() if ran.returncode == 0 else ""


def changed_headers() -> list[str]:
    """The names of the headers of locks and waits that differ from where this branch left main."""
    base = git("merge-base", "HEAD", "main")
    return [Path(name).name for name in git("diff", "--name-only", base, "--", *FOLDERS).splitlines()] if base else []


def statements_with_orders() -> list[tuple[Path, int, int, str]]:
    """File, first line, last line and text of each place in the sources that names an order."""
    found = []
    for header in sorted(p for folder in FOLDERS for p in (ROOT / folder).rglob("*.h")):
        lines = header.read_text(encoding="utf-8").splitlines()
        code = [re.sub(r"//.*", "", line) for line in lines]
        for number, line in enumerate(code, 1):
            if not ORDER.search(line):
                continue
            first = number
            while first > 1 and code[first - 2].strip() and not code[first - 2].rstrip().endswith((";", "{", "}")):
                first -= 1
            found.append((header, first, number, line.strip()))
    return found


def never_tried(places: str) -> list[str]:
    """The orders that no case of the explorer comes to, and that are not listed either."""
    reached = {(name, int(line)) for name, line in PLACE.findall(places)}
    listed = LISTED.read_text(encoding="utf-8")
    missing = []
    for header, first, last, text in statements_with_orders():
        if any((header.name, line) in reached for line in range(first, last + 1)):
            continue
        if f"| `{header.name}: {text}` |" not in listed:
            missing.append(f"{header.name}:{last}: {text}")
    return missing


def main() -> int:
    words = sys.argv[1:]
    quick = "--quick" in words
    if quick:
        words.remove("--quick")
    if len(words) != 1:
        sys.exit("usage: orders.py [--quick] BUILD-DIRECTORY")
    program = Path(words[0]) / "bin/lockswap-explore"

    # Two halves at once: the tests have two processors.
    commands = []
    for half in range(2):
        command = [program, "mutate", "--known", LISTED]
        if quick:
            turn = int(git("rev-parse", "HEAD")[:8] or "0", 16) % SLICES
            command += ["--quick", "--slice", f"{2 * turn + half}/{2 * SLICES}"]
            for name in changed_headers()[half::2]:
                command += ["--order", name + " "]
        else:
            command += ["--slice", f"{half}/2"]
        commands.append(command)
    with ThreadPoolExecutor() as pool:
        runs = list(pool.map(lambda c: subprocess.run(c, capture_output=True, text=True, check=False), commands))
    missing = never_tried(runs[0].stdout)
    for line in missing:
        print(f"NOT TRIED, NOT LISTED  {line}")
    for ran in runs:
        print(re.sub(r"(?m)^place .*\n", "", ran.stdout) + ran.stderr, end="")
    return 1 if missing or any(ran.returncode != 0 for ran in runs) else 0


if __name__ == "__main__":
    sys.exit(main())
