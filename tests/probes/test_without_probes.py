"""What probes cost while nobody looks: on each lock's fast path a no-op at most, on what is passed through nothing.

The library is built again without them, and callgrind counts both. The code of both is not the same, since a compiler
places things elsewhere; so the counts are compared, not the listings."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
LIBRARY = BUILD / "liblockswap.so"
sys.path.insert(0, str(ROOT / "tests/apps"))

from instructions import bounds, instructions, of_lock  # noqa: E402

# Counts are not whole numbers where a pair now and then takes a longer way.
ONE = 1.01


def has_probes(library: Path) -> bool:
    return "lockswap" in subprocess.run(["readelf", "-nW", library], check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def without(tmp_path_factory) -> Path:
    build = tmp_path_factory.mktemp("without-probes")
    cache = (BUILD / "CMakeCache.txt").read_text().splitlines()
    same = [f"-D{line}" for line in cache if line.startswith(("CMAKE_BUILD_TYPE:", "CMAKE_CXX_COMPILER_LAUNCHER:"))]
    flags = "-DCMAKE_CXX_FLAGS=-DLOCKSWAP_WITHOUT_PROBES"
    subprocess.run(["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", flags, *same], check=True, capture_output=True)
    jobs = str(len(os.sched_getaffinity(0)))
    done = subprocess.run(["nice", "ninja", "-C", build, "-j", jobs, "lockswap"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
    return build / "liblockswap.so"


def compared(cases: dict[str, tuple], count, without: Path) -> dict[str, tuple[float, float]]:
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        on, off = (list(pool.map(lambda case: count(library, *case), cases.values())) for library in (LIBRARY, without))
    return dict(zip(cases, zip(on, off, strict=True), strict=True))


@pytest.mark.full
def test_the_library_is_built_without_probes(without):
    assert has_probes(LIBRARY) and not has_probes(without)


@pytest.mark.full
def test_a_fast_path_has_a_no_op_more_at_most(without):
    cases = {}
    for lock in bounds(BUILD / "bin/lockswap-registry"):
        for mode in ("mutex",) if lock.startswith("mutex:") else ("read", "write"):
            cases[f"{lock}, {mode}"] = (lock, mode)
    found = compared(cases, lambda library, lock, mode: of_lock(library, BUILD / "apps", lock, mode), without)
    print(json.dumps(found, indent=1))
    assert all(with_probes - plain <= ONE for with_probes, plain in found.values()), {
        name: counts for name, counts in found.items() if counts[0] - counts[1] > ONE
    }


@pytest.mark.full
def test_what_is_passed_through_has_nothing_more(without):
    cases = {mode: (mode, {f"LOCKSWAP_{kind}": "pthread"}) for mode, kind in
             (("read", "RWLOCK"), ("write", "RWLOCK"), ("mutex", "MUTEX"))}  # fmt: skip
    found = compared(
        cases, lambda library, mode, env: instructions(library, BUILD / "apps", mode, env), without
    )
    print(json.dumps(found, indent=1))
    assert all(abs(with_probes - plain) < 0.01 for with_probes, plain in found.values()), found
