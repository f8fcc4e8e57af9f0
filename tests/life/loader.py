#!/usr/bin/env python3
"""Libraries that are loaded and unloaded under the preload library, and calls that bypass its symbols.

    loader.py LIBRARY REGISTRY FOLDER [--full]

--full: under each lock; else mostly under one of each kind. Exit status 1 if a test fails.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from under import Skip, emulated, need, run_tests, under_test

under = under_test("LIBRARY REGISTRY FOLDER [--full]")
BRINGS = under.folder / "libbrings_lockswap.so"
USER, OTHER, MUTEXES, WAITS = (under.folder / f"lib{name}.so" for name in ("user", "other_user", "mutex_user", "waits"))


def swapped() -> list[str]:
    return [lock for lock in under.some_locks if not lock.startswith("pthread")]


def test_the_first_lock_call_beside_a_dlopen_that_waits_for_it() -> None:
    for lock in [None, "", *under.locks, *under.mutexes]:
        said = under.run_well("loader", lock=lock, FIRST_CALL_LIBRARY=WAITS, LOCKSWAP_VERBOSE=1).stderr
        need("first call\n" in said, f"{lock}: the library's constructor did not run: {said!r}")
        if lock:  # else it would not be what it says
            need(said.index("first call") < said.index("rwlock "), f"{lock}: something locked before: {said!r}")
            need("auto" in lock or lock.replace(":", " ") in said, f"{lock}: runs another: {said!r}")


def test_objects_that_bypass_the_library_are_reported() -> None:
    for lock in ["", *under.some_locks]:
        for how, said in (("open", None), ("deepbind", "RTLD_DEEPBIND"), ("dlmopen", "dlmopen")):
            found = under.stats("loader", how, USER, lock=lock)
            expected = [] if said is None else [{"object": str(USER), "how": said}]
            need(found["bypassed_by"] == expected, f"{lock}, {how}: {found['bypassed_by']}")
            need(found["bypasses"] == len(expected), f"{lock}, {how}: {found['bypasses']} bypasses")
            calls = found["calls"]
            need((calls > 0) == (how == "open"), f"{lock}, {how}: {calls} calls seen")


def test_more_objects_than_are_named_are_counted() -> None:
    with tempfile.TemporaryDirectory() as place:
        copies = [Path(shutil.copy(USER, f"{place}/libuser{i}.so")) for i in range(10)]
        found = under.stats("loader", "deepbind", *copies, lock=under.plain)
    named = [one["object"] for one in found["bypassed_by"]]
    need(found["bypasses"] == 10 and named == [str(copy) for copy in copies][: len(named)], f"{found}")


def test_a_shell_s_child_that_does_nothing_but_bypass_says_so() -> None:
    if emulated.EMULATOR:
        raise Skip("the shell is this machine's")
    script = f"{under.folder}/loader deepbind {USER}; exit 0"
    said = under.run_well("/bin/bash", "-c", script, lock=under.plain, LOCKSWAP_STATS=1).stderr
    need(str(USER) in said, f"{said!r}")


def test_so_are_those_of_mutexes_where_mutexes_are_swapped() -> None:
    for lock, mutexes in (("", False), (under.plain, False), ("mutex:pthread", False), (under.mutex, True)):
        for how, said in (("open", None), ("deepbind", "RTLD_DEEPBIND"), ("dlmopen", "dlmopen")):
            found = under.stats("loader", how, MUTEXES, lock=lock)
            expected = [{"object": str(MUTEXES), "how": said}] if said and mutexes else []
            need(found["bypassed_by"] == expected, f"{lock}, {how}: {found['bypassed_by']}")
            if mutexes:
                calls = found["mutexes"]["totals"]["signals"]
                need(calls == (200 if how == "open" else 0), f"{lock}, {how}: {calls} signals seen")


def test_bypasses_are_said_in_words_and_only_when_asked_for() -> None:
    said = under.run_well("loader", "deepbind", USER, lock=under.plain).stderr
    need(said == "", f"said without being asked: {said!r}")
    for variable in ("LOCKSWAP_STATS", "LOCKSWAP_VERBOSE"):
        for how in ("deepbind", "dlmopen"):
            said = under.run_well("loader", how, USER, lock=under.plain, **{variable: 1}).stderr
            lines = [line for line in said.splitlines() if str(USER) in line]
            need(len(lines) == 1 and how in lines[0].lower(), f"{variable}, {how}: {said!r}")
        said = under.run_well("loader", "open", USER, lock=under.plain, **{variable: 1}).stderr
        need(str(USER) not in said, f"{variable}: {said!r}")


def test_the_library_in_a_namespace_of_its_own() -> None:
    """Its threads are made by that namespace's libc; the program's says that the process has one thread."""
    for lock in ["", *under.some_mutexes]:
        under.run_well("loader", "dlmopen", BRINGS, lock=lock, preload="")


def test_a_library_where_another_one_had_its_locks() -> None:
    for lock in [None, "", *under.some_locks]:
        met = int(under.run_well("loader", "same-place", USER, OTHER, lock=lock).stdout)
        need(met >= 10, f"{lock}: only {met} times in 60 at the same address")


def test_two_copies_mean_the_same_locks() -> None:
    """Readers that came through one copy are seen by writers that come through the other: one readers table."""
    with tempfile.TemporaryDirectory() as place:
        copy = shutil.copy(under.library, Path(place, "copy.so"))
        for lock in swapped():
            for preload in (f"{under.library} {copy}", f"{copy} {under.library}", str(under.library)):
                second = under.library if preload.startswith(str(copy)) else copy
                under.run_well("loader", "copy", second, lock=lock, preload=preload)
            under.run_well("loader", "dlmopen-copy", copy, lock=lock)
        for lock in under.some_locks:
            both = under.stats("churn", "locks", 1000, lock=lock, preload=f"{under.library} {copy}")
            alone = under.stats("churn", "locks", 1000, lock=lock)
            need(both["totals"]["reads"] == alone["totals"]["reads"] == 1000, f"{lock}: {both['totals']}")
            said = under.run_well("loader", lock=lock, preload=f"{copy} {under.library}", LOCKSWAP_VERBOSE=1).stderr
            need(said.count("rwlock") == 1, f"{lock}: both copies took up the lock: {said!r}")
        for mutex in under.some_mutexes:
            for preload in (f"{under.library} {copy}", f"{copy} {under.library}"):
                found = under.stats("churn", "mutexes", 1000, lock=mutex, preload=preload)["mutexes"]["totals"]
                need(found["signals"] == found["waits"] == 1000, f"{mutex}, {preload}: {found}")


sys.exit(run_tests(globals()))
