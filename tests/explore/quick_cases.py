#!/usr/bin/env python3
"""Explores the quick cases in two processes.

quick_cases.py BUILD-DIRECTORY [--explorer FILE] [--all | --memory MODEL NAME...]

Explored to their end are the cases of exclusion and of lost wake-ups, and those that are the first to find a planted
fault (structural_faults.toml, blind_faults.toml, finders.toml). Each other case has EXECUTIONS executions, in which
one of three comes to its end; with --all every one goes on to its end, which is a part of ./run.sh test --full.
Every memory order in the sources must be come to, or be listed in survivors.toml.
With --memory: only cases with one of these names in theirs, to their end, under that memory model.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import survivors
from explorer import LOCKS, Explored, add_option
from orders import never_tried
from structural_faults import read_tables

EXECUTIONS = 500
EACH_TIME = re.compile(r"/(1w2r|2w1r|2w|3w|signal|broadcast)$")
PROCESSES = 2


def finders(explored: Explored = LOCKS) -> set[str]:
    """The cases that find a planted fault which no other case was tried for, or none cheaper."""
    _, faults = read_tables(explored)
    orders = tomllib.loads((explored.folder / "finders.toml").read_text(encoding="utf-8"))["finder"]
    return {fault["found_by"] for fault in faults if "found_by" in fault} | {row["case"] for row in orders}


def to_the_end(cases: list[str], explored: Explored = LOCKS) -> list[str]:
    """Those of `cases` that are always explored to their end."""
    named = finders(explored)
    return [case for case in cases if case in named or EACH_TIME.search(case)]


def named(cases: list[str]) -> list[str]:
    """What makes the explorer run these alone."""
    return [f"={case}" for case in cases]


def output_of(commands: list[list[str]]) -> tuple[str, bool]:
    """What these commands print, one after the other, and whether all of them were right."""
    ran = [subprocess.run(command, capture_output=True, text=True, check=False) for command in commands]
    return "".join(one.stdout + one.stderr for one in ran), all(one.returncode == 0 for one in ran)


def main() -> int:
    parser = argparse.ArgumentParser(prog="quick_cases.py", description=__doc__)
    parser.add_argument("build", type=Path, metavar="BUILD-DIRECTORY")
    parser.add_argument("--all", action="store_true", help="explore every case to its end")
    parser.add_argument("--memory", choices=("c11", "tso", "sc"), help="explore under this memory model")
    add_option(parser)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_intermixed_args()
    explored = options.explorer
    explorer = str(explored.in_build(options.build))
    run = [explorer, "run", "--quick"]
    if options.memory:
        words = [*run, "--memory", options.memory]
        halves = [[[*words, "--slice", f"{i}/{PROCESSES}", *options.names]] for i in range(PROCESSES)]
    elif options.all:
        halves = [[[*run, "--places", "--slice", f"{i}/{PROCESSES}"]] for i in range(PROCESSES)]
    else:
        cases = subprocess.run([explorer, "list", "--quick"], check=True, capture_output=True, text=True).stdout.split()
        whole = to_the_end(cases, explored)
        others = sorted(set(cases) - set(whole))
        print(f"{len(cases)} cases, {len(whole)} of them to their end in any case", flush=True)
        run.append("--places")
        limited = [*run, "--executions", str(EXECUTIONS)]
        halves = [
            [[*run, *named(whole[i::PROCESSES])], [*limited, *named(others[i::PROCESSES])]] for i in range(PROCESSES)
        ]
    with ThreadPoolExecutor() as pool:
        outputs = list(pool.map(output_of, halves))
    text = "".join(out for out, _ in outputs)
    print(re.sub(r"(?m)^place .*\n", "", text), end="")
    wrong = [] if options.memory else never_tried(text, survivors.read_list(explored)["untried"], explored)
    for line in wrong:
        print(line)
    return 1 if wrong or not all(good for _, good in outputs) else 0


if __name__ == "__main__":
    sys.exit(main())
