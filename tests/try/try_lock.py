#!/usr/bin/env python3
"""Builds one lock by itself, explores it quickly, and runs its stress and its conformance.

try_lock.py BUILD LOCK

LOCK is a name of registry/rw_list.def or mutex_list.def, or a part of one; bravo-NAME and bravo-asym-NAME are the forms
under BRAVO. Where a reader-writer lock and a mutex have the same name, rw/NAME or mutex/NAME is meant.
Exit status 1 if something fails, 2 if no lock fits, or several.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

REGISTRY = Path(__file__).resolve().parents[2] / "src/registry"
LINE = re.compile(r'^(RW_LOCK|MUTEX)\("([^"]+)", \w+, "[^"]+", ([A-Z_ |]+)\)', re.MULTILINE)
SECONDS_A_CASE = "0.3"  # of exploration
JOBS = 2


@dataclass(frozen=True)
class Lock:
    kind: str  # rw or mutex, as in the names of the targets
    line: str  # its name in the list
    name: str  # what users type: the same, or one under BRAVO

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"

    def case_pattern(self) -> re.Pattern:
        """The explorer's cases: core/ba/park/..., ba/..., ba-zeroed/..., cond/mcs/..."""
        before = r"(core/)?" if self.kind == "rw" else r"(core/)?(mutex|cond)/"
        return re.compile(rf"{before}{re.escape(self.name)}/(spin|yield|park)[^/]*/")


def all_locks(registry: Path = REGISTRY) -> list[Lock]:
    found = []
    for macro, name, words in LINE.findall(
        "".join((registry / f"{k}_list.def").read_text(encoding="utf-8") for k in ("rw", "mutex"))
    ):
        kind = "rw" if macro == "RW_LOCK" else "mutex"
        if "PASSED_THROUGH" not in words:
            found.append(Lock(kind, name, name))
        if "UNDER_BRAVO" in words:
            found += [Lock(kind, name, f"bravo-{name}"), Lock(kind, name, f"bravo-asym-{name}")]
    return found


def fitting(text: str, locks: list[Lock]) -> list[Lock]:
    """The locks that have this name; if there are none, those that have it in their names."""
    return [lock for lock in locks if text in (lock.name, str(lock))] or [lock for lock in locks if text in str(lock)]


@dataclass
class Work:
    what: str
    command: list[str]
    environment: dict[str, str]


def works(build: Path, lock: Lock, cases: list[str]) -> list[Work]:
    library = build / f"try/{lock.kind}-{lock.line}/liblockswap.so"
    explorer = str(build / f"bin/lockswap-explore-{lock.kind}-{lock.line}")
    explore = [explorer, "run", "--quick", "--stop", "--seconds", SECONDS_A_CASE]
    program = "rwlock" if lock.kind == "rw" else "mutex"
    conformance = [str(build / f"tests/conformance/{program}_conformance"), "--preload", str(library)]
    conformance += ["--rwlock" if lock.kind == "rw" else "--mutex", lock.name, "--wait", "park", "--sample"]
    todo = [Work("conformance, park", conformance, {})]
    todo += [
        Work(f"exploration, {part + 1} of {JOBS}", [*explore, *(f"={case}" for case in cases[part::JOBS])], {})
        for part in range(JOBS)
    ]
    if lock.kind == "rw":
        for wait, threads in (("park", "16"), ("yield", "16"), ("spin", "4")):
            under = {"LD_PRELOAD": str(library), "LOCKSWAP_RWLOCK": lock.name, "LOCKSWAP_WAIT": wait}
            stress = [str(build / "tests/stress/rwlock_stress"), "--seconds", "1", "--threads", threads]
            todo.append(Work(f"stress, {wait}", stress, under))
    else:
        todo.append(Work("stress, each wait policy", [str(library.parent / "bin/mutex_stress"), "1000"], {}))
    return todo


def do(work: Work) -> tuple[Work, subprocess.CompletedProcess[str]]:
    environment = os.environ | work.environment
    return work, subprocess.run(work.command, env=environment, capture_output=True, text=True, check=False)


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    if len(sys.argv) != 3:
        print("usage: try_lock.py BUILD LOCK", file=sys.stderr)
        return 2
    build, text = Path(sys.argv[1]).resolve(), sys.argv[2]
    locks = all_locks()
    fits = fitting(text, locks)
    if len(fits) != 1:
        several = f"'{text}' fits several locks: say one of" if fits else f"'{text}' is in no lock's name; there are"
        print(f"run.sh: {several} {', '.join(map(str, fits or locks))}", file=sys.stderr)
        return 2
    lock = fits[0]
    start = time.monotonic()
    target = f"try-{lock.kind}-{lock.line}"
    print(f"== building {target}", flush=True)
    if subprocess.run(["cmake", "--build", build, "-j", str(JOBS), "--target", target], check=False).returncode:
        return 1
    built, built_cpu = time.monotonic(), cpu_seconds()

    listed = subprocess.run(
        [build / f"bin/lockswap-explore-{lock.kind}-{lock.line}", "list", "--quick"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    cases = [case for case in listed if lock.case_pattern().match(case)]
    if not cases:
        print(f"run.sh: there is no {lock}: {lock.line} has no such form", file=sys.stderr)
        return 2
    print(f"== {lock}: {len(cases)} explored cases, stress, conformance", flush=True)
    failed = []
    with ThreadPoolExecutor(JOBS) as pool:
        for work, ran in pool.map(do, works(build, lock, cases)):
            if ran.returncode != 0:
                failed.append(work.what)
                print(ran.stdout + ran.stderr, end="")
            last = (ran.stdout.strip().splitlines() or ["nothing said"])[-1]
            print(f"{'FAILED' if ran.returncode else 'passed'}  {work.what}: {last}", flush=True)
    ended, cpu = time.monotonic(), cpu_seconds()
    result = "failed: " + ", ".join(failed) if failed else "passed"
    building = f"({built - start:.0f} s, {built_cpu:.0f} CPU seconds of them for building)"
    print(f"== {lock}: {result}; {ended - start:.0f} s, {cpu:.0f} CPU seconds {building}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
