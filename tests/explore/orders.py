"""Weakens the memory orders of the locks, or of what another explorer has, in turn. Exactly those that survivors.toml
lists must survive, and every order in the sources must be tried or listed."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import survivors
from explorer import LOCKS, Explored, add_option

ORDER = re.compile(r"\b(?:memory_order_)?(acquire|release|acq_rel|seq_cst)\b")
STRING = re.compile(r'"[^"]*"')
LIMITS = ("executions", "seconds")
PLACE = re.compile(r"^place    (?:.*  )?(\S+):(\d+)$", re.MULTILINE)


class Statement(NamedTuple):
    """A place in the sources that names an order."""

    file: str
    first: int  # its lines
    last: int
    function: str
    order: str
    text: str


def statements_with_orders(explored: Explored = LOCKS) -> list[Statement]:
    found = []
    for header in explored.explored_headers():
        lines = header.read_text(encoding="utf-8").splitlines()
        code = [STRING.sub('""', survivors.without_comment(line)) for line in lines]
        for number, line in enumerate(code, 1):
            order = ORDER.search(line)
            if order is None:
                continue
            first = number
            while first > 1 and code[first - 2].strip() and not code[first - 2].endswith((";", "{", "}")):
                first -= 1
            function = survivors.function_at(lines, number - 1)
            found.append(Statement(explored.name_of(header), first, number, function, order[1], line.strip()))
    return found


def is_listed(s: Statement, entry: dict) -> bool:
    return (
        survivors.is_file(s.file, entry["file"])
        and (s.function, s.order) == (entry["function"], entry["from"])
        and f".{entry.get('operation', '')}(" in (s.text if "operation" in entry else ".(")
    )


def never_tried(places: str, listed: list[dict], explored: Explored = LOCKS) -> list[str]:
    """What is wrong: orders that no case of the explorer comes to and that are not listed, and the reverse."""
    reached = {(name, int(line)) for name, line in PLACE.findall(places)}
    wrong = []
    stale = list(listed)
    for s in statements_with_orders(explored):
        if any((s.file, line) in reached for line in range(s.first, s.last + 1)):
            continue
        entries = [entry for entry in listed if is_listed(s, entry)]
        stale = [entry for entry in stale if entry not in entries]
        if not entries:
            wrong.append(f"NOT TRIED, NOT LISTED  {s.file}:{s.last}: {s.function}: {s.text}")
    wrong += [f"LISTED AS UNTRIED, but it is tried or gone: {e['file']} {e['function']}: {e['from']}" for e in stale]
    return wrong


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="orders.py", description=__doc__)
    parser.add_argument(
        "--slice",
        metavar="K/N",
        help="weakens one of N parts of the orders, chosen by their names; does not try the listed ones again",
    )
    parser.add_argument(
        "--executions",
        type=int,
        metavar="N",
        help="tries each weakened order in N executions at most, a listed one in a sixth of that, which gives the same "
        "verdicts on every machine; one that has none by then is reported as OPEN and counts as a survivor",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        metavar="N",
        help="the same in CPU seconds",
    )
    add_option(parser)
    parser.add_argument("build", type=Path, metavar="BUILD-DIRECTORY")
    options = parser.parse_args()
    for limit in LIMITS:
        given = getattr(options, limit)
        if given is not None and not given > 0:
            parser.error(f"--{limit} takes a number above 0")
    return options


def command(options: argparse.Namespace, known: Path) -> list[str | Path]:
    """Two processes share the work: the tests have two processors."""
    words = [options.explorer.in_build(options.build), "mutate", "--known", known, "--jobs", "2"]
    for beginning in options.explorer.only:
        words += ["--header", beginning]
    for limit in LIMITS:
        if getattr(options, limit) is not None:
            words += [f"--{limit}", str(getattr(options, limit))]
    if options.slice:
        words += ["--quick", "--slice", options.slice]
    return words


def main() -> int:
    options = parse()
    listed = survivors.read_list(options.explorer)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as known:
        known.writelines(f"{line}\n" for line in survivors.survivors(listed))
        known.flush()
        ran = subprocess.run(command(options, Path(known.name)), capture_output=True, text=True, check=False)
    wrong = never_tried(ran.stdout, listed["untried"], options.explorer)
    for line in wrong:
        print(line)
    print(re.sub(r"(?m)^place .*\n", "", ran.stdout) + ran.stderr, end="")
    return 1 if wrong or ran.returncode != 0 else 0


if __name__ == "__main__":
    sys.exit(main())
