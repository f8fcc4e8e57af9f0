#!/usr/bin/env python3
"""Compare the binary interface of the libraries that programs link with, with the one that is recorded.

    check_abi.py BUILD [--record]

libabigail compares functions, and the types in the public headers, with packaging/abi/LIBRARY.abi. Each difference
is a finding, `file:1: message`, and the exit status is 1 if there is one. --record writes these files anew.
"""

import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

RECORDS = Path("packaging/abi")
HEADERS = {"liblockswap_api": Path("include"), "liblockswap_structures": Path("structures/include")}
RECORDED_ON = "x86_64"
CHANGED, INCOMPATIBLE = 4, 8  # bits of abidiff's exit status
RECORD = "run scripts/check_abi.py BUILD --record"
# Without what no program sees, and what differs from build to build.
PUBLIC = ["--exported-interfaces-only", "--drop-private-types"]
PLACELESS = ["--no-show-locs", "--no-corpus-path", "--no-comp-dir-path"]


def record(library: Path, headers: Path, file: Path) -> None:
    command = ["abidw", *PUBLIC, *PLACELESS, "--headers-dir", headers, "--out-file", file, library]
    subprocess.run(list(map(str, command)), check=True)


def finding(library: Path, headers: Path, file: Path) -> str | None:
    """What differs, in one line with abidiff's report below it; None if nothing does."""
    if not file.is_file():
        return f"{file}:1: {library.name} has no record: {RECORD}"
    with tempfile.TemporaryDirectory() as folder:
        now = Path(folder) / file.name
        record(library, headers, now)  # two records are compared, since only they leave out the same
        done = subprocess.run(["abidiff", str(file), str(now)], capture_output=True, text=True)
    if done.returncode == 0:
        return None
    if not done.returncode & CHANGED:
        return f"{file}:1: abidiff failed with status {done.returncode}: {done.stderr.strip()}"
    if done.returncode & INCOMPATIBLE or not only_adds(done.stdout):
        cure = f"undo it, or give {library.name} another number (SOVERSION, debian/) and {RECORD}"
        return f"{file}:1: programs that were linked with {library.name} may break: {cure}\n{done.stdout}"
    return f"{file}:1: {library.name} has more than is recorded: {RECORD}, and complete debian/*.symbols\n{done.stdout}"


def only_adds(report: str) -> bool:
    """Whether the report's summary counts nothing but functions that are new."""
    counts = re.findall(r"(\d+) (Removed|Changed)", report)
    return all(number == "0" for number, _ in counts)


def main(build: Path, records: bool) -> int:
    if platform.machine() != RECORDED_ON:
        print(f"the ABI is recorded on {RECORDED_ON} and not compared here")
        return 0
    findings = []
    for name, headers in HEADERS.items():
        # Each number of a library has a record of its own.
        library = (build / f"{name}.so").resolve()
        file = RECORDS / f"{library.name}.abi"
        if records:
            record(library, headers, file)
        elif found := finding(library, headers, file):
            findings.append(found)
    print("".join(f"{line}\n" for line in findings), end="")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), "--record" in sys.argv[2:]))
