#!/usr/bin/env python3
"""Explores cases on all processors of several machines, or of this one.

sweep.py [--scheduler ADDRESS] [--slices N] [--explorer FILE] BUILD-DIRECTORY [-- OPTIONS and NAMES of `run`]

The cases are cut into slices, as `lockswap-explore run --slice K/N` does it. Each slice is a task of Dask; the tasks of
a worker that is lost run again on another one. In the end each case has been explored exactly once. The workers need
the same build directory, on a shared disk or as a copy.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from explorer import add_option

from lockswap.base.errors import UserError
from lockswap.cluster import connection

SLICES = 256
CASE = re.compile(r"^(\S+) +[0-9,]+ +\d+ executions +[0-9.]+ s  (.*)$", re.MULTILINE)
SUMMARY = re.compile(r"^\d+ cases under .*\n", re.MULTILINE)


def names_in(words: list[str]) -> list[str]:
    """What `run` takes for names of cases: all but options and their values."""
    flags = ("--quick", "--stop", "--unreduced", "--compare", "--places")
    found, is_value = [], False
    for word in words:
        if not is_value and not word.startswith("--"):
            found.append(word)
        is_value = not is_value and word.startswith("--") and word not in flags
    return found


def expected(explorer: Path, words: list[str]) -> list[str]:
    """The cases that `run` explores with these words."""
    names = names_in(words)
    listing = [explorer, "list", *(["--quick"] if "--quick" in words and not names else [])]
    cases = subprocess.run(listing, check=True, capture_output=True, text=True).stdout.split()
    if not names:
        return cases
    return [case for case in cases if any(case == name[1:] if name[0] == "=" else name in case for name in names)]


def wrong_counts(cases: list[str], explored: Counter) -> list[str]:
    """Cases that were not explored exactly once, in words."""
    wanted = Counter(cases)
    return [
        f"{case}: explored {explored[case]} times, not once"
        for case in wanted | explored
        if explored[case] != wanted[case]
    ]


def sweep(client, explorer: Path, words: list[str], slices: int) -> int:
    cases = expected(explorer, words)
    if not cases:
        raise UserError("no case has such a name; see lockswap-explore list")
    count = min(slices, len(cases))
    commands = [[str(explorer), "run", *words, "--slice", f"{k}/{count}"] for k in range(count)]
    threads = connection.threads_of(client)
    print(
        f"{len(cases)} cases in {count} slices, on {sum(threads.values())} threads of {len(threads)} workers",
        flush=True,
    )
    explored, results, failed = Counter(), Counter(), 0
    for number, status, output in connection.run_all(client, commands):
        if status not in (0, 1):
            raise UserError(f"slice {number}/{count} ended with status {status}: {output.strip().splitlines()[-1:]}")
        failed += status
        found = CASE.findall(output)
        explored.update(case for case, _ in found)
        results.update(
            result if result in ("exhausted", "not finished") else "sampled or failed" for _, result in found
        )
        print(SUMMARY.sub("", output), end="", flush=True)
    wrong = wrong_counts(cases, explored)
    print(*wrong, sep="\n", end="\n" if wrong else "")
    ends = ", ".join(f"{n} {result}" for result, n in results.items())
    print(f"{explored.total()} cases ({ends}); slices with a failure: {failed}")
    return 1 if failed or wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="sweep.py", description=__doc__)
    parser.add_argument(
        "--scheduler", default=connection.LOCAL, metavar="ADDRESS", help="Dask's; default: this machine"
    )
    parser.add_argument("--slices", type=int, default=SLICES, metavar="N")
    add_option(parser)
    parser.add_argument("build", type=Path, metavar="BUILD-DIRECTORY")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="-- WORDS")
    options = parser.parse_args()
    words = options.words[1:] if options.words[:1] == ["--"] else options.words
    try:
        with connection.client(options.scheduler, threads=os.cpu_count() or 1) as client:
            return sweep(client, options.explorer.in_build(options.build).absolute(), words, options.slices)
    except UserError as error:
        print(f"sweep.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
