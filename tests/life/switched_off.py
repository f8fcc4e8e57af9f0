#!/usr/bin/env python3
"""The kill switch: `lockswap off` is turned while threads take old locks and make new ones.

    switched_off.py LIBRARY REGISTRY FOLDER

Exit status 1 if a test fails.
"""

import os
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path

from under import finish, need, run_tests, under_test

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "harness"))

from lockswap.doctor.asked import Memory, ask, turn_off  # which need no other packages

under = under_test("LIBRARY REGISTRY FOLDER")


def turn(pid: int) -> None:
    maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
    begin = next(int(line.split("-")[0], 16) for line in maps if line.endswith(str(under.library)))
    with Memory(pid, writes=True) as memory:
        runs = ask(memory, under.library, begin)
        need(runs is not None, f"process {pid} does not say what it runs")
        turn_off(memory, runs, 1)


def switched_off(*arguments: object, **variables: str) -> tuple[int, int]:
    """How many of the locks that began meanwhile were ours, and how many the system's."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
    environment |= {"LD_PRELOAD": str(under.library)} | variables
    with subprocess.Popen(
        [under.folder / "switched_off", *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    ) as program:  # fmt: skip
        try:
            need(program.stdout.readline() == "ready\n", f"{variables}: it did not begin")
            turn(program.pid)
            said, errors = finish(program, f"switched_off {variables}", "off\n")
        except BaseException:
            program.kill()
            raise
    need(program.returncode == 0 and said.endswith("\ndone\n"), f"{variables}: {program.returncode}, {said} {errors}")
    ours, systems = said.split()[:2]
    return int(ours), int(systems)


def test_under_each_lock() -> None:
    mutexes = [name.removeprefix("mutex:") for name in under.mutexes]
    some_were_raced = False
    for rwlock, mutex in zip_longest(under.locks, mutexes, fillvalue="auto"):
        swaps = (mutex not in under.passed_through, rwlock not in under.rw_passed_through)
        ours, systems = switched_off(*map(int, swaps), LOCKSWAP_RWLOCK=rwlock, LOCKSWAP_MUTEX=mutex)
        need(systems == 0 or swaps[1], f"{rwlock}: {systems} locks began as the system's")
        some_were_raced |= ours > 0 and systems > 0
    need(some_were_raced, "no switch was turned while locks began: the test shows less than it should")


def test_with_statistics() -> None:
    switched_off(1, 1, LOCKSWAP_RWLOCK="auto", LOCKSWAP_MUTEX="auto", LOCKSWAP_STATS=os.devnull)


def test_under_a_policy() -> None:
    rules = f"rwlock={under.biased} mutex={under.mutex.removeprefix('mutex:')}"
    switched_off(1, 1, "policy", LOCKSWAP_POLICY=rules)


def test_where_nothing_is_swapped() -> None:
    ours, systems = switched_off(0, 0)
    need(ours > 0 and systems == 0, f"{ours}, {systems}")


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
