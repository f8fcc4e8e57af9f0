"""What probes cost while nobody looks: on each lock's fast path a no-op at most, on what is passed through nothing.

The library is linked again from units that are compiled without them, and callgrind counts both. The code of both is
not the same, since a compiler places things elsewhere; so the counts are compared, not the listings."""

import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from header import needed

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
LIBRARY = BUILD / "liblockswap.so"
LIST = ROOT / "src/registry/mutex_list.def"
sys.path.insert(0, str(ROOT / "tests/apps"))

from instructions import bounds, instructions, of_lock  # noqa: E402

# Counts are not whole numbers: some hundred instructions at the start and the end of a process differ from run to run,
# and a pair may now and then take a longer way.
ONE = 1.1
# What all calls pass first, and the first mutex of the list: its name, and its class.
MUTEX, CLASS = re.search(r'^MUTEX\("([\w-]+)", (\w+),', LIST.read_text(), re.MULTILINE).groups()
SAMPLE = rf"interpose/.*/(rwlock|mutex)\.cpp\.o|/mutex_{CLASS}\.cpp\.o"
EACH = r"\.cpp\.o"
pytestmark = needed


def pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(len(os.sched_getaffinity(0)))


def notes(library: Path) -> int:
    said = subprocess.run(["readelf", "-nW", library], check=True, capture_output=True, text=True).stdout
    return said.count("Provider: lockswap")


def without_probes(folder: Path, units: str) -> Path:
    """The library with these units compiled anew, by the commands that built it."""
    listed = subprocess.run(
        ["ninja", "-C", BUILD, "-t", "commands", "lockswap"], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    link = next(line for line in listed if "-o liblockswap.so" in line)
    compiling = []
    for line in listed:
        words = shlex.split(line)
        unit = words[words.index("-o") + 1] if "-c" in words else ""
        if not re.search(units, unit):
            continue
        target = folder / unit.replace("/", "-")
        for option in ("-MF", "-o"):
            words[words.index(option) + 1] = f"{target}.d" if option == "-MF" else str(target)
        compiling.append([*words, "-DLOCKSWAP_WITHOUT_PROBES"])
        link = link.replace(f" {unit} ", f" {target} ")
    assert compiling, "the build has other units than this test knows"
    with pool() as workers:
        list(workers.map(lambda words: subprocess.run(words, cwd=BUILD, check=True, capture_output=True), compiling))
    library = folder / "liblockswap.so"
    link = link.replace("-o liblockswap.so", f"-o {library}")
    subprocess.run(["sh", "-c", link], cwd=BUILD, check=True, capture_output=True)
    return library


def compared(cases: dict[str, tuple], count, other: Path) -> dict[str, tuple[float, float]]:
    """With probes, and without."""
    with pool() as workers:
        both = [[workers.submit(count, one, *case) for case in cases.values()] for one in (LIBRARY, other)]
        counts = [[future.result() for future in futures] for futures in both]
    found = dict(zip(cases, zip(*counts, strict=True), strict=True))
    print(json.dumps(found, indent=1))
    return found


def count_lock(library: Path, lock: str, mode: str) -> float:
    return of_lock(library, BUILD / "apps", lock, mode)


def check_locks(cases: dict[str, tuple], other: Path) -> None:
    found = compared(cases, count_lock, other)
    dearer = {name: counts for name, counts in found.items() if counts[0] - counts[1] > ONE}
    assert not dearer


def check_passed_through(other: Path) -> None:
    kinds = {"read": "RWLOCK", "write": "RWLOCK", "mutex": "MUTEX"}
    cases = {mode: (mode, {f"LOCKSWAP_{kind}": "pthread"}) for mode, kind in kinds.items()}
    found = compared(cases, lambda library, mode, env: instructions(library, BUILD / "apps", mode, env), other)
    assert all(abs(on - off) < 0.1 for on, off in found.values()), found


def test_a_lock_and_what_is_passed_through(tmp_path):
    other = without_probes(tmp_path, SAMPLE)
    assert 0 < notes(other) < notes(LIBRARY)
    check_locks({MUTEX: (f"mutex:{MUTEX}", "mutex")}, other)
    check_passed_through(other)


@pytest.mark.full
def test_all_locks(tmp_path):
    other = without_probes(tmp_path, EACH)
    assert notes(LIBRARY) > 0 and notes(other) == 0, "a build without probes has some"
    cases = {}
    for lock in bounds(BUILD / "bin/lockswap-registry"):
        for mode in ("mutex",) if lock.startswith("mutex:") else ("read", "write"):
            cases[f"{lock}, {mode}"] = (lock, mode)
    check_locks(cases, other)
    check_passed_through(other)
