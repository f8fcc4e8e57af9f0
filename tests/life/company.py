#!/usr/bin/env python3
"""The preload library together with others that are preloaded: other mallocs, and AddressSanitizer.

    company.py LIBRARY REGISTRY FOLDER [--full]

--full: under each lock; else under one of each kind. Exit status 1 if a test fails; what is not installed is printed
as skipped.
"""

import subprocess
import sys
from pathlib import Path

from under import Skip, installed, need, run_tests, under_test

under = under_test("LIBRARY REGISTRY FOLDER [--full]")


def runs_with(other: Path) -> None:
    """The same result with the other library alone, and with both in either order, under some locks."""
    alone = under.run_well("guest", lock=None, preload=str(other)).stdout
    for preload in (f"{under.library} {other}", f"{other} {under.library}"):
        for lock in ["", *under.some_locks, *under.some_mutexes]:
            said = under.run_well("guest", lock=lock, preload=preload)
            need(said.stdout == alone, f"{preload}, {lock}: {said.stdout!r}")
            need(said.stderr == "", f"{preload}, {lock}: {said.stderr!r}")
        counted = under.stats("guest", lock=under.biased, preload=preload)
        need(counted["calls"] > 10_000, f"{preload}: {counted['calls']} calls seen")
        counted = under.stats("guest", lock=under.mutex, preload=preload)["mutexes"]
        need(counted["calls"] > 4_000, f"{preload}: {counted['calls']} calls of mutexes seen")


def test_jemalloc() -> None:
    runs_with(installed("libjemalloc.so.2"))


def test_tcmalloc() -> None:
    runs_with(installed("libtcmalloc_minimal.so.4"))


def test_mimalloc() -> None:
    runs_with(installed("libmimalloc.so.[0-9]*"))


def test_a_malloc_that_takes_locks() -> None:
    runs_with(under.folder / "liblocking_malloc.so")


def test_a_clock_that_takes_locks() -> None:
    """As libfaketime's does when it is first called, which may be in the start of this library."""
    preload = f"{under.folder / 'libclock_that_locks.so'} {under.library}"
    for lock in ["", under.plain, under.biased, under.mutex, *under.passed_through]:
        under.run_well("guest", lock=lock, preload=preload)


def asan() -> Path:
    """The runtime of gcc's AddressSanitizer."""
    if not (under.folder / "guest_asan").exists():
        raise Skip("this compiler has no AddressSanitizer, or links its runtime statically")
    command = ["gcc", "-print-file-name=libasan.so"]
    found = Path(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())
    need(found.is_absolute(), "gcc does not know where its libasan.so is")
    return found


def test_address_sanitizer_first() -> None:
    """It refuses to run unless it comes first; `lockswap run` puts it there."""
    both = f"{asan()} {under.library}"
    under.run_well("guest_asan", lock=None)
    for lock in ["", *under.some_locks, *under.some_mutexes]:
        said = under.run_well("guest_asan", lock=lock, preload=both, LOCKSWAP_VERBOSE=1)
        need(said.stdout == "counted 600\n", f"{lock}: {said.stdout!r}")
        need(
            "Sanitizer" not in said.stderr and (lock.replace(":", " ") or "nothing chosen") in said.stderr,
            f"{lock}: {said.stderr!r}",
        )
    behind = under.run("guest_asan", lock=under.plain, preload=str(under.library))
    need(behind.returncode != 0 and "does not come first" in behind.stderr, f"it need not be first: {behind.stderr!r}")


def test_address_sanitizer_still_finds_what_is_wrong() -> None:
    said = under.run("guest_asan", "overflow", lock=under.biased, preload=f"{asan()} {under.library}")
    need(said.returncode != 0 and "heap-buffer-overflow" in said.stderr, f"{said.returncode}, {said.stderr[-300:]!r}")


sys.exit(run_tests(globals()))
