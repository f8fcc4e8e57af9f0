#!/usr/bin/env python3
"""Plants the faults of structural_faults.toml and the other tables of an explorer, each of which a case must find.

structural_faults.py [--explorer FILE] BUILD-DIRECTORY [NAME...]; status 1 if one is missed, or an edit no longer fits
the source. All edits must fit in any case.
structural_faults.py --lock KIND/LOCK BUILD-DIRECTORY [NAME...]: only those of faults/KIND-LOCK.toml, by the explorer of
that lock alone, which `./run.sh try` builds; KIND is rw or mutex.
structural_faults.py --search BUILD-DIRECTORY [NAME...]: of faults that name the cases `within` which they may show,
the first of these that finds each."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

import survivors
from explorer import LOCKS, Explored, add_option, of_lock
from patched import Explorer, write_overlay

# Comes first in each edited header.
SWITCH = """\
#ifndef LOCKSWAP_PLANTED_FAULT
#define LOCKSWAP_PLANTED_FAULT
#include <cstdlib>
#include <cstring>
namespace lockswap {
inline const char* const planted_fault = std::getenv("LOCKSWAP_PLANTED_FAULT");
inline bool planted(const char* name) { return planted_fault && std::strcmp(planted_fault, name) == 0; }
%s
}
#endif
"""


def read_tables(explored: Explored = LOCKS) -> tuple[list[dict], list[dict]]:
    """All edits and all faults."""
    paths = [path for name in explored.faults for path in sorted(explored.folder.glob(name))]
    tables = [tomllib.loads(path.read_text(encoding="utf-8")) for path in paths]
    return [e for t in tables for e in t.get("edit", ())], [f for t in tables for f in t.get("fault", ())]


def edited(edits: list[dict], faults: list[dict], explored: Explored = LOCKS) -> dict[str, str]:
    """The headers with all edits in them; exits if one does not fit."""
    names = [f["name"] for f in faults]
    used: set[str] = set()

    def switch(match: re.Match[str]) -> str:
        used.add(match[1])
        return f"::lockswap::fault_{match[1]}"

    texts: dict[str, str] = {}
    for edit in edits:
        name, old, new = edit["file"], edit["old"].lstrip("\n"), edit["new"].lstrip("\n")
        text = texts.get(name) or explored.source_of(name).read_text(encoding="utf-8")
        if text.count(old) != 1:
            sys.exit(f"planted faults: this occurs {text.count(old)} times in {name}, not once:\n{old}")
        texts[name] = text.replace(old, re.sub(r"FAULT\((\w+)\)", switch, new))
    if used != set(names):
        sys.exit(f"planted faults: some without an edit, or edits without a fault: {used ^ set(names)}")
    flags = "\n".join(f'inline const bool fault_{n} = planted("{n}");' for n in names)
    return {name: SWITCH % flags + text for name, text in texts.items()}


def does_not_compile(said: str, work: str, lock: str | None) -> str:
    """What to do about headers with faults that the compiler refuses."""
    place = re.compile(rf"^\S*{re.escape(Path(work).name)}/src/")
    compilers = re.compile(r"\S+:\d+:(\d+:)? (fatal )?error:")  # collect2's line has no place
    errors = [place.sub("", line) for line in said.splitlines() if compilers.match(line)][:3]
    if errors:
        return "planted faults: with the edits, the source does not compile:\n" + "\n".join(errors)
    first = f"`./run.sh try {lock}`" if lock else "`ninja tests`"
    return f"planted faults: the explorer does not link (is everything built? Run {first} first):\n{said[-1000:]}"


def is_found(ran: subprocess.CompletedProcess[str]) -> bool:
    """A lock that takes the explorer down is found, too: by its signal."""
    return ran.returncode == 1 or ran.returncode < 0


def run(program: Path, fault: str, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LOCKSWAP_PLANTED_FAULT": fault}
    command = [program, "run", "--quick", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def search(program: Path, faults: list[dict]) -> int:
    """Prints the first case that finds each fault."""

    def first_case(fault: dict) -> str:
        ran = run(program, fault["name"], "--stop", *fault["within"])
        if not is_found(ran):
            return f"MISSED  {fault['name']}: {ran.stdout.splitlines()[-1]}"
        at = re.search(r"^(\S+) .*executions +[\d.]+ s +(?!exhausted|pct|not fin)(\S.*)$", ran.stdout, re.MULTILINE)
        crash = re.search(r"^lockswap-explore: (.*) in (\S+)$", ran.stdout, re.MULTILINE)
        case, how = (crash[2], crash[1]) if crash else (at[1], at[2]) if at else ("?", ran.stderr)
        return f"found   {fault['name']}: {case}: {how}"

    with ThreadPoolExecutor(2) as pool:
        for line in pool.map(first_case, faults):
            print(line, flush=True)
    return 0


def check(program: Path, faults: list[dict], explored: Explored) -> int:
    """Whether each fault is found by the case that it names."""
    explained = {row["name"]: row["reason"] for row in survivors.read_list(explored).get("planted", ())}

    def judge(name: str, says: str, case: str, bounds: str | None, wanted: bool) -> tuple[bool, str]:
        ran = run(program, name, *(["--bounds", bounds] if bounds else []), f"={case}")
        good = is_found(ran) if wanted else ran.returncode == 0
        right, wrong = ("found", "MISSED") if wanted else ("passes", "FAILED")
        return good, f"{right if good else wrong:7} {says}: {case}" + ("" if good else "\n" + ran.stdout + ran.stderr)

    def judge_fault(fault: dict) -> tuple[bool, str]:
        case = fault.get("found_by") or fault.get("passes")
        if case:
            return judge(fault["name"], fault["says"], case, fault.get("bounds"), "found_by" in fault)
        if fault["name"] in explained:
            return True, f"LISTED  {fault['says']}"
        hint = "; --search prints the first case that finds it" if "within" in fault else ""
        return False, f"MISSED  {fault['says']}: it names no case, and survivors.toml gives no reason{hint}"

    # Without a fault the edited headers are the shipped ones.
    controls = sorted({(f["found_by"], f.get("bounds")) for f in faults if "found_by" in f}, key=str)
    failed = 0
    with ThreadPoolExecutor(2) as pool:
        for good, line in chain(
            pool.map(lambda control: judge("none", "no fault planted", *control, False), controls),
            pool.map(judge_fault, faults),
        ):
            failed += not good
            print(line, flush=True)
    print(f"{len(faults)} planted faults and controls, {failed} not as they must be")
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="structural_faults.py", description=__doc__.split("\n\n")[0])
    add_option(parser)
    parser.add_argument("--search", action="store_true", help="print the first case that finds each fault")
    parser.add_argument("--lock", metavar="KIND/LOCK", help="only this lock's own faults, in its own explorer")
    parser.add_argument("build", type=Path, metavar="BUILD-DIRECTORY")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these faults")
    options = parser.parse_intermixed_args()
    build, explored = options.build.resolve(), options.explorer
    if options.lock:
        explored = of_lock(options.lock)
    edits, faults = read_tables(explored)
    if not faults:
        sys.exit(f"structural_faults.py: {options.lock or explored.program} has no planted faults yet")
    with tempfile.TemporaryDirectory(dir=build) as work:
        write_overlay(Path(work) / "src", edited(edits, faults, explored))
        try:
            program = Explorer(build, explored).build(Path(work) / "src", Path(work) / "explore")
        except subprocess.CalledProcessError as failed:
            sys.exit(does_not_compile(failed.stderr, work, options.lock))
        if options.names:
            faults = [f for f in faults if f["name"] in options.names]
        if options.search:
            sought = [f for f in faults if "within" in f]
            if not sought:
                sys.exit("planted faults: --search looks only for faults that have `within`, and none of these has it")
            return search(program, sought)
        return check(program, faults, explored)


if __name__ == "__main__":
    sys.exit(main())
