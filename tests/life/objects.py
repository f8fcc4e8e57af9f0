#!/usr/bin/env python3
"""Objects that never were locks, were locks of another process, or are destroyed while they are held.

    objects.py LIBRARY REGISTRY FOLDER [--full]

Each program runs under a lock of each kind, or every lock with --full, and must do as under glibc. Exit status 1 if one
does not.
"""

import random
import sys
import tempfile
from pathlib import Path

from under import emulated, need, run_tests, under_test

under = under_test("LIBRARY REGISTRY FOLDER [--full]")
RANDOM = 2_000  # objects
# One after the other; a stamp is the same by chance once in 255. An emulator is slow to start.
PROCESSES = 3 if emulated.EMULATOR else 40
SEED = random.randrange(1 << 30)

# A lock of either kind in one run: what they do with strange bytes does not depend on each other.
LOCKS, MUTEXES = under.some_locks, [mutex.removeprefix("mutex:") for mutex in under.some_mutexes]
PAIRS = [(LOCKS[i % len(LOCKS)], MUTEXES[i % len(MUTEXES)]) for i in range(max(len(LOCKS), len(MUTEXES)))]


def test_random_bytes_are_destroyed_and_made_new() -> None:
    for mode in ("random", "stamped"):
        expected = under.run_well("strange_objects", mode, SEED, RANDOM, lock=None).stdout
        for rwlock, mutex in PAIRS:
            how = {"LOCKSWAP_RWLOCK": rwlock, "LOCKSWAP_MUTEX": mutex}
            found = under.run_well("strange_objects", mode, SEED, RANDOM, **how).stdout
            need(found == expected, f"{mode}, seed {SEED}, {how}: {found!r}, under glibc {expected!r}")


def test_random_bytes_under_a_policy() -> None:
    expected = under.run_well("strange_objects", "random", SEED, RANDOM, lock=None).stdout
    blocked = [name for name in under.block_bytes if under.block_bytes[name] and ":" not in name][:2]
    for rwlock in blocked:
        policy = f"rwlock={rwlock} {under.mutex.replace(':', '=')}"
        found = under.run_well("strange_objects", "random", SEED, RANDOM, LOCKSWAP_POLICY=policy).stdout
        need(found == expected, f"seed {SEED}, {policy}: {found!r}, under glibc {expected!r}")


def test_a_hold_ends_after_its_lock() -> None:
    expected = under.run_well("strange_objects", "held", lock=None).stdout
    for rwlock in LOCKS:
        found = under.run_well("strange_objects", "held", lock=rwlock).stdout
        need(found == expected, f"{rwlock}: {found!r}")


def in_a_file(mode: str, chosen: list[tuple[str, str]], processes: int = PROCESSES) -> None:
    """The pairs of locks use one file after the other."""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, "objects")
        file.write_bytes(bytes(4096))
        for rwlock, mutex in chosen:
            how = {"LOCKSWAP_RWLOCK": rwlock, "LOCKSWAP_MUTEX": mutex}
            under.run_well("strange_objects", mode, file, processes, **how)


def test_processes_use_a_file_one_after_the_other() -> None:
    for mode in ("file", "siblings", "copied"):
        for pair in PAIRS:
            in_a_file(mode, [pair])


def test_a_copy_goes_on_under_another_lock() -> None:
    ours = [(r, m) for r, m in PAIRS if r not in under.rw_passed_through and m not in under.passed_through]
    in_a_file("copied", random.Random(SEED).sample(ours, len(ours)) + ours, 2)


def test_a_lock_in_a_file_goes_from_glibc_to_another() -> None:
    for pair in PAIRS:
        in_a_file("file", [(under.rw_passed_through[0], under.passed_through[0]), pair], 2)


sys.exit(run_tests(globals()))
