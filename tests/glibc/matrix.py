#!/usr/bin/env python3
"""Run tests of the build on several glibcs, with several builds of the library, and compare the verdicts.

    matrix.py BUILD [--quick] [--library NAME=FILE]... [--glibc VERSION]... [--only REGEX] [--out FOLDER]

A cell is a build of the library on a glibc. Without --library the cells are the build's own library and, where it was
made, the one that was built on Debian 13; --library names others instead, such as one that is wrong on purpose. The
glibcs are the system's and those that scripts/glibc.sh has unpacked in BUILD/glibc.

The verdict of each test must be `passed`, or `skipped` on all glibcs; exceptions.toml has what differs by glibc's own
behaviour. Exit status 1 if something differs.
"""

import argparse
import os
import platform
import re
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
NOT_HERE = 77  # inside.py's

# Some seconds each; what looks at objects' bytes, or at the loader.
QUICK = r"glibc/conds/.*|conformance/symbols|life/single_threaded"
# Locks of each kind: glibc's own, ours, those with glibc's lock inside, and each way to choose condition variables.
THOROUGH = (
    QUICK + r"|layouts|conformance/(glibc|none|(pthread|ba|eventual|bravo-pthread|bravo-eventual)/park)"
    r"|conformance/mutex/(glibc|none|(mcs|ticket|eventual|cohort)/park)|conformance/cond/(own|pthread)"
    r"|life/[a-z_]+|hostile|hostile/(stopped|priorities)"
    r"|programs/(preload|python3-threads|sqlite3-threads|std-shared_mutex|glib-GRWLock|openssl-digest-threads"
    r"|pigz-pbzip2|xz-zstd|redis|memcached)"
)


@dataclass
class Cell:
    library: str
    glibc: str
    verdicts: dict[str, str] = field(default_factory=dict)
    log: Path = Path()

    @property
    def name(self) -> str:
        return f"{self.library} on {self.glibc}"


@dataclass(frozen=True)
class Plan:
    build: Path
    out: Path
    tests: str
    glibcs: dict[str, Path | None]  # version -> the unpacked package; None: the system's
    libraries: dict[str, dict[str, Path]]  # name -> what lies over which file of the build


def glibcs_in(build: Path, wanted: list[str]) -> dict[str, Path | None]:
    found: dict[str, Path | None] = {platform.libc_ver()[1]: None}
    for marker in sorted(build.glob("glibc/*/version")):
        found.setdefault(marker.read_text().strip(), marker.parent / "libc6")
    for version in wanted:
        if version not in found:
            sys.exit(f"matrix.py: glibc {version} is not among {', '.join(found)}: see scripts/glibc.sh")
    return {version: folder for version, folder in found.items() if not wanted or version in wanted}


def libraries_in(build: Path, given: list[str]) -> dict[str, dict[str, Path]]:
    if given:
        named = dict(word.split("=", 1) for word in given)
        return {name: {"liblockswap.so": Path(file)} for name, file in named.items()}
    libraries: dict[str, dict[str, Path]] = {"this build": {}}
    names = ("liblockswap.so", "liblockswap-audit.so", "liblockswap-fuzz.so")
    there = {name: build / "glibc/debian13" / name for name in names}
    if all(file.exists() for file in there.values()):
        libraries["built on Debian 13"] = there
    return libraries


def verdict(case: ElementTree.Element) -> str:
    status = case.get("status")
    if status == "run":
        return "passed"
    return "FAILED" if status == "fail" else "skipped"


def run(plan: Plan, cell: Cell) -> None:
    """Fills in the verdicts; none: mounts are not allowed here."""
    folder = plan.glibcs[cell.glibc]
    command: list[str] = []
    over = [f"--over={file}={plan.build / name}" for name, file in plan.libraries[cell.library].items()]
    if folder is not None or over:
        command = [sys.executable, str(HERE / "inside.py"), *([f"--glibc={folder}"] if folder else []), *over]
    stem = re.sub(r"\W+", "-", cell.name)
    cell.log = plan.out / f"{stem}.log"
    xml = plan.out / f"{stem}.xml"
    xml.unlink(missing_ok=True)
    command += ["ctest", "--test-dir", str(plan.build), "-R", f"^({plan.tests})$", "--output-on-failure"]
    command += ["-j", "2", "--output-junit", str(xml)]
    with cell.log.open("w") as log:
        status = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, env=dict(os.environ)).returncode
    if status == NOT_HERE:
        print(f"{cell.name}: not run: {cell.log.read_text().strip().splitlines()[-1]}")
        return
    if not xml.exists():
        sys.exit(f"matrix.py: {cell.name}: ctest did not run: see {cell.log}")
    cell.verdicts = {case.get("name", ""): verdict(case) for case in ElementTree.parse(xml).iter("testcase")}
    if not cell.verdicts:
        sys.exit(f"matrix.py: no test is called {plan.tests}")
    count = {v: list(cell.verdicts.values()).count(v) for v in ("passed", "FAILED", "skipped")}
    print(f"{cell.name}: " + ", ".join(f"{n} {v}" for v, n in count.items() if n), flush=True)


def allowed(exceptions: list[dict[str, str]], cell: Cell, test: str) -> str | None:
    """Why this test may fail in this cell: the reason of an exception whose plain test fails there, too."""
    for one in exceptions:
        if (
            one["glibc"] == cell.glibc
            and re.fullmatch(one["test"], test)
            and cell.verdicts.get(one["plain"]) == "FAILED"
        ):
            return one["reason"]
    return None


def compare(cells: list[Cell], exceptions: list[dict[str, str]]) -> list[str]:
    """What is wrong, a line each."""
    findings = []
    for test in sorted({test for cell in cells for test in cell.verdicts}):
        skips = {cell.verdicts.get(test) == "skipped" for cell in cells if cell.verdicts}
        for cell in cells:
            got = cell.verdicts.get(test, "skipped") if cell.verdicts else None
            if got == "FAILED":
                reason = allowed(exceptions, cell, test)
                if reason is None:
                    findings.append(f"FAILED {test}: {cell.name} (see {cell.log})")
                else:
                    print(f"excepted {test}: {cell.name}: {reason}")
            elif got == "skipped" and len(skips) > 1:
                findings.append(f"FAILED {test}: {cell.name}: skipped, but not everywhere")
    return findings


def main() -> int:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", type=lambda p: Path(p).resolve())
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--library", action="append", default=[])
    parser.add_argument("--glibc", action="append", default=[])
    parser.add_argument("--only")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    out = options.out or options.build / "glibc/results"
    out.mkdir(parents=True, exist_ok=True)
    plan = Plan(
        build=options.build,
        out=out,
        tests=options.only or (QUICK if options.quick else THOROUGH),
        glibcs=glibcs_in(options.build, options.glibc),
        libraries=libraries_in(options.build, options.library),
    )
    cells = [Cell(library, glibc) for library in plan.libraries for glibc in plan.glibcs]
    if options.quick:  # this build, which the system's glibc has had in the other tests
        own = next(iter(plan.libraries))
        cells = [cell for cell in cells if cell.library == own and plan.glibcs[cell.glibc] is not None]
    if not cells:
        print("glibc: only the system's is here, nothing to compare")
        return 0
    for cell in cells:
        run(plan, cell)
    with (HERE / "exceptions.toml").open("rb") as file:
        exceptions = tomllib.load(file).get("exception", [])
    findings = compare(cells, exceptions)
    print("\n".join(findings) if findings else f"glibc: the verdicts of {len(cells)} cells are equal")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
