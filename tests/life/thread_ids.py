#!/usr/bin/env python3
"""Thread ids in locks, where a program changes what glibc takes for one: each answer is glibc's own.

    thread_ids.py LIBRARY REGISTRY FOLDER

Exit status 1 if a test fails.
"""

import sys
import tempfile

from under import Skip, need, run_tests, under_test

under = under_test("LIBRARY REGISTRY FOLDER")


def right() -> list[str]:
    alone = under.run("raw_clone", lock=None)
    if alone.returncode == 77:
        raise Skip("this glibc keeps a thread's id elsewhere")
    need(alone.returncode == 0, f"without lockswap: {alone.returncode}, {alone.stderr!r}")
    return alone.stdout.splitlines()


def same(what: str, **how: object) -> None:
    want, got = right(), under.run_well("raw_clone", **how).stdout.splitlines()
    need(len(got) == len(want), f"{what}: {len(got)} lines, {len(want)} without lockswap")
    for mine, glibcs in zip(got, want, strict=True):
        need(mine == glibcs, f"{what}: {mine!r}, without lockswap {glibcs!r}")


def test_a_child_of_a_raw_clone_that_gives_itself_its_id() -> None:
    for mutex in under.mutexes:
        for rwlock in ("pthread", "auto"):
            same(f"{mutex}, {rwlock}", lock=mutex, LOCKSWAP_RWLOCK=rwlock)
    for rwlock in under.locks:
        same(rwlock, lock=rwlock, LOCKSWAP_MUTEX="auto")


def test_the_same_beside_what_records_locks() -> None:
    both = {"LOCKSWAP_RWLOCK": "auto", "LOCKSWAP_MUTEX": "auto"}
    with tempfile.TemporaryDirectory() as place:
        same("nothing chosen")
        same("a profile", LOCKSWAP_PROFILE=place, **both)
        same("an audit", preload=under.library.with_name("liblockswap-audit.so"), LOCKSWAP_AUDIT=f"{place}/record")
        same("fuzz", preload=under.library.with_name("liblockswap-fuzz.so"), LOCKSWAP_FUZZ="1,delay=10")


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
