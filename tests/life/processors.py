#!/usr/bin/env python3
"""How much of the machine a process has: what the library sees at start-up, and what it sees while the program runs.

    processors.py LIBRARY REGISTRY FOLDER

The quotas are those of real cgroups, where this user may make one. Exit status 1 if a test fails.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from quota_group import NoGroup, QuotaGroup
from under import Skip, emulated, finish, need, run_tests, under_test

under = under_test("LIBRARY REGISTRY FOLDER")
# Each turn is a sleep. The affinity of the last 16 readings counts, and there is one in 251 sleeps.
TURNS = 6_000


def group_of(percent: int | None) -> QuotaGroup:
    try:
        return QuotaGroup(percent)
    except NoGroup as why:
        raise Skip(str(why)) from None


def sleepers(
    enters: Callable[[], None] | None, steps: list[tuple[Callable[[], None], str]], turns: int = TURNS, **variables: str
) -> str:
    """What the library says of a program that has so many turns at the start and after each of the steps."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
    environment |= {"LD_PRELOAD": str(under.library), "LOCKSWAP_VERBOSE": "1"} | variables
    environment.setdefault("LOCKSWAP_MUTEX", under.mutex.removeprefix("mutex:"))
    with subprocess.Popen(
        emulated.command(under.folder / "sleepers", turns),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        preexec_fn=enters,
    ) as program:  # fmt: skip
        try:
            program.stdout.readline()
            for step, word in steps:
                step()
                program.stdin.write(word + "\n")
                program.stdin.flush()
                program.stdout.readline()
            _, said = finish(program, f"sleepers {variables}")
        except BaseException:
            program.kill()
            raise
    need(program.returncode == 0, f"status {program.returncode}, said {said!r}")
    return said


def at_start(said: str) -> str:
    found = re.search(
        r"^lockswap .*, wait \w+ on (\d+ processors?(?: \(\d+ % of one by quota\))?),", said, re.MULTILINE
    )
    need(found is not None, f"no line says what there is: {said!r}")
    return found[1]


def at_end(said: str) -> str:
    found = re.search(r"^lockswap: at the end (.*);", said, re.MULTILINE)
    return found[1] if found else ""


def nothing() -> None:
    pass


def test_half_a_processor_by_quota() -> None:
    with group_of(50) as group:
        said = sleepers(group.enter, [], turns=1000)
    need(at_start(said).endswith(" (50 % of one by quota)"), said)
    need(at_end(said) == "", f"nothing has changed: {said!r}")


def test_a_quota_that_changes_while_the_program_runs() -> None:
    with group_of(50) as group:
        said = sleepers(group.enter, [(lambda: group.set(300), "")], turns=1000)
        need(at_end(said).endswith(" (300 % of one by quota)"), said)
    with group_of(None) as group:
        said = sleepers(group.enter, [(lambda: group.set(150), "")], turns=1000)
        need("quota" not in at_start(said) and at_end(said).endswith(" (150 % of one by quota)"), said)
        said = sleepers(group.enter, [(lambda: group.set(None), "")], turns=1000)
        need("150 %" in at_start(said) and at_end(said) != "" and "quota" not in at_end(said), said)


def test_nothing_is_read_again_where_nobody_spins() -> None:
    with group_of(50) as group:
        said = sleepers(group.enter, [(lambda: group.set(300), "")], turns=1000, LOCKSWAP_SPIN="0")
    need("processor" not in said, said)


def files_kept(enters: Callable[[], None], **variables: str) -> set[int]:
    """The numbers that a program has from the library."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
    environment |= {"LD_PRELOAD": str(under.library)} | variables
    with subprocess.Popen(
        emulated.command(under.folder / "sleepers", 1), env=environment, preexec_fn=enters,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as program:  # fmt: skip
        program.stdout.readline()
        files = {int(file.name) for file in Path(f"/proc/{program.pid}/fd").iterdir()}
        finish(program, f"sleepers {variables}")
    return files - set(range(10))


def test_files_are_kept_where_locks_are_swapped_alone() -> None:
    mutex = under.mutex.removeprefix("mutex:")
    with group_of(50) as group:
        need(files_kept(group.enter, LOCKSWAP_MUTEX=mutex) != set(), "no file is kept")
        need(files_kept(group.enter) == set(), "nothing is swapped, and files are kept")


def test_threads_that_lose_their_processors() -> None:
    if len(os.sched_getaffinity(0)) < 2:
        raise Skip("there is one processor")
    said = sleepers(None, [(nothing, "bind")])
    need(at_end(said).startswith("1 processor"), said)


sys.exit(run_tests(globals()))
