#!/usr/bin/env python3
"""What memory the locks of this library take, and those of others: prints the table of results/notes/2026-11-peers.md.

    memory.py BUILD [--all]

BUILD is the build tree: its apps/peers (bash apps/fetch/peers.sh builds it), liblockswap.so and bin/lockswap-registry.
--all has every lock of this library, else those that are compared by default, and `auto`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

HEAD = """\
| lock | type | bytes | beside it | a thread | address space, kB | resident, kB |
| --- | --- | ---: | ---: | ---: | ---: | ---: |"""
PAGES = 4096 * 2  # what memory may grow by meanwhile for other reasons
LOCKS, THREADS = 20_000, 64  # as in memory.h


def measured(program: Path, variables: dict[str, str]) -> tuple[list[int], list[dict[str, str]]]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LOCKSWAP_")}
    out = subprocess.run([program, "--memory"], env=environment | variables, check=True, capture_output=True, text=True)
    first, heads, *rows = (line.split("\t") for line in out.stdout.splitlines())
    return [int(n) for n in first[1:]], [dict(zip(heads, row, strict=True)) for row in rows]


def bytes_in(text: str, parts: int) -> str:
    value = float(text)
    return f"{value:.0f}" if value > PAGES / parts else "0"


def line(name: str, row: dict[str, str], process: tuple[int, int]) -> str:
    used = bytes_in(row["beside"], LOCKS), bytes_in(row["thread"], THREADS)
    cells = (name, row["type"], row["bytes"], *used, *map(str, process))
    return "| " + " | ".join(cells) + " |"


def choices(build: Path, kind: str, everything: bool) -> list[str]:
    listed = json.loads(subprocess.check_output([build / "bin/lockswap-registry"], text=True))
    names = [row["name"] for row in listed[kind] if everything or row["compared_by_default"]]
    return list(dict.fromkeys(["auto", *names]))


def main() -> int:
    build = Path(sys.argv[1]).resolve()
    everything = "--all" in sys.argv[2:]
    program, library = build / "apps/peers", build / "liblockswap.so"
    start, rows = measured(program, {})
    print(HEAD)
    for row in rows:
        if row["lock"] == "std":
            print(line("glibc's", row, (0, 0)))
    for kind, variable, type_of in (("rwlocks", "RWLOCK", "shared_mutex"), ("mutexes", "MUTEX", "std::mutex")):
        for name in choices(build, kind, everything):
            loaded, found = measured(program, {"LD_PRELOAD": str(library), f"LOCKSWAP_{variable}": name})
            grown = tuple(now - before for now, before in zip(loaded, start, strict=True))
            (row,) = (row for row in found if row["lock"] == "std" and row["type"].endswith(type_of))
            print(line(f"`{name}`", row, grown))
    for row in rows:
        if row["lock"] != "std":
            print(line(f"`{row['lock']}`", row, (int(row["mapped_kb"]), int(row["resident_kb"]))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
