#!/usr/bin/env python3
"""A process with one thread: mutexes make no atomic update there, and nothing shows that they do not.

    single_threaded.py LIBRARY REGISTRY FOLDER [--full]

--full: a handler comes before each instruction of every mutex; else of one of each kind. Exit status 1 if a test fails.
single_threaded.cpp says what each scenario does.
"""

import platform
import sys

from under import Skip, need, run_tests, under_test

under = under_test("LIBRARY REGISTRY FOLDER [--full]")
# glibc's own excludes nobody when a handler begins a thread.
ours = [mutex for mutex in under.mutexes if mutex.removeprefix("mutex:") not in under.passed_through]
# Locks that have their state beside the object make several updates.
small = [mutex for mutex in ours if under.block_bytes[mutex] == 0]


def figures(*scenario: object, **how: object) -> dict[str, int]:
    said = under.run("single_threaded", *scenario, **how)
    if said.returncode == 77:
        raise Skip("the trap flag is x86-64's")
    need(said.returncode == 0, f"{scenario} {how}: status {said.returncode}, said {(said.stdout + said.stderr)!r}")
    return {name: int(value) for name, value in (line.split() for line in said.stdout.splitlines())}


def glibc_knows() -> bool:
    name, version = platform.libc_ver()
    return name == "glibc" and tuple(map(int, version.split("."))) >= (2, 32)


def test_no_atomic_update_while_there_is_one_thread() -> None:
    need(bool(small), "no mutex has its state in the object")
    for mutex in small:
        for wait in ("park", "spin"):
            found = figures("updates", lock=mutex, LOCKSWAP_WAIT=wait)
            need(found["beside"] > 0, f"{mutex}, {wait}: beside another thread its updates are not atomic: {found}")
            if glibc_knows():
                need(found["alone"] == 0, f"{mutex}, {wait}: {found}")


def test_a_handler_before_each_instruction() -> None:
    for mutex in under.some_mutexes:
        found = figures("handler", lock=mutex)
        need(found["had"] > 0 and found["refused"] > 0, f"{mutex}: {found}")


def test_a_lock_that_a_handler_divides_is_found() -> None:
    said = under.run("single_threaded", "toy")
    if said.returncode == 77:
        raise Skip("the trap flag is x86-64's")
    need(said.returncode == 1 and "a handler came" in said.stderr, f"{said.returncode}: {said.stderr!r}")


def test_a_handler_begins_a_thread_before_each_instruction() -> None:
    for mutex in [mutex for mutex in under.some_mutexes if mutex in ours]:
        found = figures("thread", lock=mutex)
        need(found["threads"] > 0, f"{mutex}: {found}")


def test_a_second_thread_begins_while_it_is_held() -> None:
    for mutex in under.mutexes:
        for wait in ("park", "yield"):
            figures("held", lock=mutex, LOCKSWAP_WAIT=wait)


def test_threads_have_ended() -> None:
    for mutex in under.mutexes:
        for wait in ("park", "yield"):
            figures("again", lock=mutex, LOCKSWAP_WAIT=wait)


def test_fork() -> None:
    for mutex in ours:
        figures("fork", lock=mutex)


def test_a_library_that_begins_a_thread() -> None:
    for mutex in under.mutexes:
        figures("load", under.folder / "liblate_thread.so", lock=mutex)


if __name__ == "__main__":
    sys.exit(run_tests(dict(globals())))
