#!/usr/bin/env python3
"""Keys of thread-specific data: lockswap takes none, so a program sees what it sees under glibc.

    keys.py LIBRARY REGISTRY FOLDER

Exit status 1 if a test fails.
"""

import sys
import tempfile
from collections.abc import Iterator

from under import need, run_tests, under_test

under = under_test("LIBRARY REGISTRY FOLDER")


def choices(place: str) -> Iterator[tuple[str, dict]]:
    both = {"LOCKSWAP_RWLOCK": "auto", "LOCKSWAP_MUTEX": "auto"}
    audit, fuzz = (under.library.with_name(f"liblockswap-{name}.so") for name in ("audit", "fuzz"))
    yield "only preloaded", {}
    for rwlock in ("auto", under.plain, under.biased):
        yield rwlock, {"LOCKSWAP_RWLOCK": rwlock, "LOCKSWAP_MUTEX": "auto"}
    yield "statistics", {"LOCKSWAP_STATS": f"{place}/stats", **both}
    yield "a profile", {"LOCKSWAP_PROFILE": place, **both}
    yield "an audit", {"preload": audit, "LOCKSWAP_AUDIT": f"{place}/record"}
    yield "fuzz", {"preload": fuzz, "LOCKSWAP_FUZZ": "1,delay=10"}
    yield "fuzz and locks", {"preload": f"{fuzz}:{under.library}", "LOCKSWAP_FUZZ": "1,delay=10", **both}


def same(how: str) -> None:
    want = under.run_well("keys", how, lock=None).stdout.splitlines()
    with tempfile.TemporaryDirectory() as place:
        for choice, variables in choices(place):
            got = under.run_well("keys", how, **variables).stdout.splitlines()
            for mine, glibcs in zip(got, want, strict=True):
                need(mine == glibcs, f"{choice}: {mine!r}, without lockswap {glibcs!r}")


def test_every_number_and_every_end_of_a_thread() -> None:
    same("sweep")


def test_a_key_that_was_never_made() -> None:
    same("stray")


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
