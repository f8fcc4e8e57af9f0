#!/usr/bin/env python3
"""A child that is forked while another thread is in the library's start.

    forked_start.py LIBRARY REGISTRY FOLDER

The thread that starts is held at a call of libc's that the start makes, one after another. The child must come to its
end, with locks that work. Exit status 1 if a test fails.
"""

import sys
import tempfile
from pathlib import Path

from under import Skip, need, run_tests, under_test

under = under_test("LIBRARY REGISTRY FOLDER")
NO_SUCH_CALL = 3


def fork_at_each(step: int, preload: Path = under.library, by: str = "fork", **variables: object) -> None:
    """At each step-th call of the start, the first among them."""
    if not preload.exists():
        raise Skip(f"{preload.name} is not built")
    at = 0
    while True:
        how = {"preload": str(preload), "FORK_AT": at, "FORK_BY": by, **variables}
        said = under.run("forked_start", **how)
        if said.returncode == NO_SUCH_CALL:
            break
        good = said.returncode == 0 and said.stdout == "good\n"
        need(good, f"{variables}, by {by} at call {at}: {said.returncode}, {(said.stdout + said.stderr)[-300:]!r}")
        at += step
    need(at > 0, f"{variables}: the start makes no call that this test sees")


def neighbour(name: str) -> Path:
    return under.library.with_name(name)


def test_only_preloaded() -> None:
    for by in ("fork", "clone"):
        fork_at_each(7, by=by)


def test_locks_are_chosen() -> None:
    for name in ("auto", under.plain, under.biased):
        fork_at_each(29, LOCKSWAP_RWLOCK=name, LOCKSWAP_MUTEX="auto")
    fork_at_each(29, by="clone", LOCKSWAP_RWLOCK="auto", LOCKSWAP_MUTEX="auto")


def test_statistics() -> None:
    with tempfile.TemporaryDirectory() as place:
        fork_at_each(29, LOCKSWAP_RWLOCK="auto", LOCKSWAP_MUTEX="auto", LOCKSWAP_STATS=f"{place}/stats")


def test_a_policy() -> None:
    with tempfile.TemporaryDirectory() as place:
        rules = Path(place, "rules")
        rules.write_text(f"symbol=mutex mutex={under.plain}\nrwlock={under.biased} mutex=auto\n")
        fork_at_each(41, LOCKSWAP_POLICY=rules)


def test_a_delay() -> None:
    fork_at_each(41, LOCKSWAP_DELAY="use_locks:+1us", LOCKSWAP_RWLOCK="auto", LOCKSWAP_MUTEX="auto")


def test_a_profile() -> None:
    with tempfile.TemporaryDirectory() as place:
        fork_at_each(41, LOCKSWAP_PROFILE=place, LOCKSWAP_RWLOCK="auto", LOCKSWAP_MUTEX="auto")


def test_an_audit() -> None:
    with tempfile.TemporaryDirectory() as place:
        fork_at_each(11, neighbour("liblockswap-audit.so"), LOCKSWAP_AUDIT=f"{place}/record")


def test_fuzz() -> None:
    fork_at_each(11, neighbour("liblockswap-fuzz.so"), LOCKSWAP_FUZZ="1,delay=10")
    fork_at_each(11, neighbour("liblockswap-fuzz.so"))


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
