"""Picks lines of the shipped headers at random, for faults that are planted without a look at the cases.

pick_places.py SEED COUNT: prints so many lines, in the order in which they were drawn. Each statement is as likely as
any other, whichever header it is in."""

from __future__ import annotations

import random
import re
import sys

from patched import SOURCES

FOLDERS = ("locks", "posix", "range", "readers", "reclaim", "wait")
# Not statements, or what no program can see.
SKIPPED = re.compile(
    r"^\s*(#|//|\}|using |template|static_assert|public:|private:|protected:|struct |class |friend |namespace )"
    r"|^\s*(\.|\"|concept )"
    r"|Count::on|^\s*\{? *$|^\s*[\w:<>, ]+\{\};$"
)


def statements() -> list[tuple[str, int, str]]:
    """File, line number and text of each line that may do something."""
    found = []
    for header in sorted(h for folder in FOLDERS for h in (SOURCES / folder).rglob("*.h")):
        name = header.relative_to(SOURCES).as_posix()
        if name.endswith("concept.h"):
            continue
        for number, line in enumerate(header.read_text(encoding="utf-8").splitlines(), 1):
            if line.startswith("  ") and not SKIPPED.search(line):
                found.append((name, number, line.strip()))
    return found


def main() -> None:
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    for name, number, line in random.Random(seed).sample(statements(), count):
        print(f"{name}:{number}: {line}")


if __name__ == "__main__":
    main()
