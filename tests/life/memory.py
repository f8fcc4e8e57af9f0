#!/usr/bin/env python3
"""Threads and locks that begin and end take no more memory than with glibc's locks.

    memory.py LIBRARY REGISTRY FOLDER [--full]

Each program runs on plain glibc first, then under each lock; what it prints after a tenth of its work and at the
end must differ by no more than under glibc, and a few pages. --full: all locks and not one of each kind, 100,000
threads, five times as many locks. Exit status 1 if not.
"""

import sys

from under import Skip, emulated, need, run_tests, under_test

under = under_test("LIBRARY REGISTRY FOLDER [--full]")
THREADS = 100_000 if under.is_full else 2_000  # each may leave 16 bytes behind, which is less than anything has
LOCKS = 100_000 if under.is_full else 20_000  # eight bytes that each of these left behind would be five times PAGES
PAGES = 32  # kB: stack pages and malloc's arenas vary by so much from run to run
# kB of address space: what docs/interposition.md says, and a tenth, as other compilers make more code of it.
ADDRESSES = 3_710 * 11 // 10
# kB that the library may take, whatever the program does; an emulator's translation of its code is counted, too.
FIXED = 1024 if emulated.EMULATOR else 256
COUNTED = ", counted"  # with LOCKSWAP_STATS


def memory(*command: object, lock: str | None) -> list[list[int]]:
    """[own kB, mapped kB, mappings] after a tenth, and at the end."""
    counted = {"LOCKSWAP_STATS": 1} if lock and lock.endswith(COUNTED) else {}
    lock = lock and lock.removesuffix(COUNTED)
    result = under.run_well("churn", *command, lock=lock, **counted)
    return [[int(n) for n in line.split()] for line in result.stdout.splitlines()]


def compare(*command: object, locks: int = 0, mutexes: bool = False) -> None:
    """locks: how many blocks beside locks it may take. mutexes: under those, not under rwlocks."""
    choices, counted = (under.some_mutexes, under.mutex) if mutexes else (under.some_locks, under.biased)
    early, end = memory(*command, lock=None)
    growth = end[0] - early[0]
    print(f"        {' '.join(map(str, command)):24} glibc: {early[0]} kB, then {growth:+} kB")
    # The statistics have a table of locks, which fills up.
    for lock in ["", *choices, *([counted + COUNTED] if command[0] == "threads" else [])]:
        first, last = memory(*command, lock=lock)
        own = last[0] - first[0]
        name = lock or "(none)"
        print(f"        {'':24} {name}: {first[0]} kB, then {own:+} kB, {last[2] - first[2]:+} mappings")
        blocks = under.block_bytes.get(lock, 0) * locks // 1024
        need(own <= max(growth, 0) + PAGES + blocks, f"{name}: {command} grew by {own} kB, under glibc by {growth} kB")
        need(last[0] <= end[0] + FIXED + blocks, f"{name}: {command} takes {last[0]} kB, under glibc {end[0]} kB")
        mapped = last[1] - first[1]
        # Blocks come in chunks, each of which is a quarter of what there is.
        allowed = max(end[1] - early[1], 0) + PAGES + blocks * 5 // 4
        need(mapped <= allowed, f"{name}: {command} mapped {mapped} kB more")
        need(last[2] <= first[2] + 4, f"{name}: {command}: {last[2] - first[2]} mappings more")


def test_address_space() -> None:
    if emulated.EMULATOR:
        raise Skip("the address space is the emulator's")

    def size(**how: object) -> int:
        return int(under.run_well("strange_objects", "size", **how).stdout)

    plain = size(lock=None)
    for lock in (*under.locks, *under.mutexes):
        how = {"LOCKSWAP_RWLOCK": "auto", "LOCKSWAP_MUTEX": "auto"} if lock == "auto" else {"lock": lock}
        more = size(**how) - plain
        print(f"        {lock}: {more} kB of address space")
        need(more <= ADDRESSES, f"{lock}: {more} kB more than without the library, {ADDRESSES} at most")


def test_threads_that_lock_once() -> None:
    compare("threads", THREADS, "one")


def test_threads_that_hold_many_locks() -> None:
    compare("threads", THREADS // 2, "many")


def test_threads_whose_key_destructors_lock() -> None:
    compare("threads", THREADS // 2, "late")


def test_threads_that_end_with_locks_held() -> None:
    compare("threads", THREADS // 2, "leaves")


def test_threads_that_wait() -> None:
    compare("threads", THREADS // 10, "waits")


def test_threads_that_hold_many_mutexes() -> None:
    compare("threads", THREADS // 2, "mutexes", mutexes=True)


def test_threads_that_wait_for_mutexes_and_condition_variables() -> None:
    compare("threads", THREADS // 10, "queues", mutexes=True)


def test_threads_that_end_in_other_ways() -> None:
    for how in ("exits", "cancelled", "c11", "refused"):
        compare("threads", THREADS // 5, how)


def test_threads_of_a_program_that_has_all_keys() -> None:
    compare("keyless", THREADS // 2, "many")
    compare("keyless", THREADS // 10, "waits")
    compare("keyless", THREADS // 2, "mutexes", mutexes=True)
    compare("keyless", THREADS // 10, "queues", mutexes=True)


def test_the_program_gets_as_many_keys_as_under_glibc() -> None:
    for how in ("pthread", "tss"):
        want = int(under.run_well("churn", "keys", how, lock=None).stdout)
        for lock in ["", *under.some_locks, *under.some_mutexes]:
            keys = int(under.run_well("churn", "keys", how, lock=lock).stdout)
            need(keys == want, f"{lock or '(none)'}: {keys} keys by {how}, under glibc {want}")


def test_mutexes_used_once() -> None:
    compare("mutexes", LOCKS // 2, locks=LOCKS * 67 // 200, mutexes=True)


def test_locks_used_once() -> None:
    compare("locks", LOCKS, locks=LOCKS * 67 // 100)  # a third is destroyed


def test_locks_that_are_freed_without_a_word() -> None:
    # Once there are 4096 blocks, those of locks that are gone are used again.
    compare("gone", LOCKS, locks=4096)


def test_mutexes_that_are_freed_without_a_word() -> None:
    compare("gone", LOCKS, locks=4096, mutexes=True)


def test_locks_destroyed_while_held() -> None:
    compare("ended", LOCKS // 2)


def test_very_many_locks_held_at_once() -> None:
    # A thread's records of them: 24 bytes each in a table at most half full, that may just have doubled.
    held = LOCKS * 10 if under.is_full else LOCKS
    for lock in [None, "", *under.some_locks]:
        first, last = memory("held", held, lock=lock)
        allowed = held * (24 * 4 + under.block_bytes.get(lock, 0)) // 1024 + PAGES
        need(last[0] - first[0] <= allowed, f"{lock}: {last[0] - first[0]} kB for {held} holds")


def test_a_lock_counts_very_many_holds_and_then_refuses() -> None:
    """docs/interposition.md has how many; glibc counts 2^28 - 1."""
    if not under.is_full:
        raise Skip("takes minutes; unit/parts sets the counters by hand")
    for foreign in ([], ["foreign"]):
        for lock in [None, "", *under.locks]:
            depth = int(under.run_well("churn", "deep", *foreign, lock=lock).stdout)
            print(f"        {lock or '(none)'} {' '.join(foreign)}: {depth}", flush=True)
            need(depth >= 2**20, f"{lock}: refused at depth {depth}")  # with the first hold


sys.exit(run_tests(globals()))
