#!/usr/bin/env python3
"""The benchmark `peers`: with each lock that is compiled in, each of its works runs and finds its counts right.

    peers.py LIBRARY FOLDER

FOLDER has the program. Runs are short and nothing is asked of speed. Exit status 1 if a test fails.
"""

import json
import re
import sys
import tempfile
from pathlib import Path

from programs import LOCKS, MUTEXES, need, refused, run, run_tests, sound, values

# Each work with the tails that it must have.
WORKS = {
    "pairs": ("--writes 0.25", ("read", "write")),
    "rwbench": ("--writes 0.5", ("read", "write")),
    "map": ("--entries 50 --writes 0.5", ("read", "write")),
    "mutex": ("--inside 2", ("write",)),
    "cache": ("--entries 50", ("write",)),
    "queue": ("--places 2", ("pop", "push")),
}
BRIEF = "--seconds 0.05 --tails 0.05"


def facts() -> list[dict[str, str]]:
    done = run("peers --facts")
    need(done.returncode == 0 and done.stderr == "", f"--facts: {done}")
    heads, *rows = (line.split("\t") for line in done.stdout.splitlines())
    return [dict(zip(heads, row, strict=True)) for row in rows]


def line(lock: str, work: str, threads: int) -> str:
    return f"peers --lock {lock} --work {work} --threads {threads} {WORKS[work][0]} {BRIEF}"


def test_facts() -> None:
    found = facts()
    need({"std::mutex", "std::shared_mutex"} <= {row["type"] for row in found}, f"{found}")
    for row in found:
        need(int(row["bytes"]) > 0 and int(row["thread_bytes"]) >= 0, f"{row}")
        need(set(row["works"].split(",")) <= set(WORKS), f"{row}")
        need((row["conditions"] == "yes") == ("queue" in row["works"]), f"{row}")
        need((row["readers"] == "yes") == ("pairs" in row["works"]), f"{row}")
    sizes = {row["type"]: row["bytes"] for row in found}
    need((sizes["std::mutex"], sizes["std::shared_mutex"]) == ("40", "56") or sys.maxsize < 2**32, f"{sizes}")


def test_memory() -> None:
    """Of std::mutex all is known: glibc's needs nothing beside itself."""
    done = run("peers --memory")
    need(done.returncode == 0 and done.stderr == "", f"--memory: {done}")
    process, heads, *rows = (line.split("\t") for line in done.stdout.splitlines())
    need(process[0] == "process" and int(process[1]) > int(process[2]) > 0, f"{process}")
    found = [dict(zip(heads, row, strict=True)) for row in rows]
    need([row["type"] for row in found] == [row["type"] for row in facts()], f"{found}")
    (mutex,) = (row for row in found if row["type"] == "std::mutex")
    need(float(mutex["beside"]) < 2 and float(mutex["thread"]) < 1024, f"{mutex}")


def test_each_lock_keeps_others_out() -> None:
    """More threads than processors, since a lock that only spins must end as well."""
    for row in facts():
        for work in row["works"].split(","):
            for threads in (2, 5):
                try:
                    sound(values(line(row["lock"], work, threads)), WORKS[work][1])
                except AssertionError as error:
                    raise AssertionError(f"{row['type']}, {work}, {threads} threads: {error}") from None


def test_one_thread_alone() -> None:
    for work, (_, kinds) in WORKS.items():
        if work != "queue":
            sound(values(line("std", work, 1)), kinds)


def totals(text: str, lock: str, kind: str) -> tuple[dict[str, int], dict[str, float]]:
    """What the library counted, and what the program says."""
    with tempfile.TemporaryDirectory() as folder:
        found = values(text.replace("--tails 0.05", "--tails 0"), lock, Path(folder) / "stats")
        (file,) = Path(folder).glob("stats.*")
        counted = json.loads(file.read_text())
    return (counted["mutexes"] if kind == "mutex" else counted)["totals"], found


def test_the_locks_of_cpp_are_those_of_the_preload() -> None:
    for work in ("pairs", "rwbench", "map"):
        counted, found = totals(line("std", work, 3), LOCKS[-1], "rwlock")
        need((counted["reads"], counted["writes"]) == (found["reads"], found["writes"]), f"{work}: {counted} {found}")
    for work in ("mutex", "cache", "queue"):
        counted, found = totals(line("std", work, 3), MUTEXES[0], "mutex")
        need(counted["acquisitions"] >= found["ops"], f"{work}: {counted} {found}")
        need(work != "queue" or counted["signals"] >= found["ops"], f"{counted} {found}")


def test_what_goes_into_a_queue_comes_out() -> None:
    found = values("peers --work queue --threads 6 --places 3 --seconds 0.1 --tails 0")
    need(0 <= found["writes"] - found["reads"] <= 3, f"more is left than there are places: {found}")


def test_a_lock_that_is_not_compiled_in() -> None:
    choices = re.search(r"--lock \((.*?)\)", run("peers --help").stdout, re.DOTALL)
    need(choices is not None, "--help has no list of locks")
    there = {row["lock"] for row in facts()}
    for lock in re.split(r",\s*", choices[1]):
        if lock in there:
            continue
        done = run(f"peers --lock {lock} --work pairs")
        need(done.returncode == 77 and done.stdout == "", f"{lock}: {done}")
        says = f"peers: {lock} is not compiled in: 'bash apps/fetch/peers.sh' installs "
        need(done.stderr.startswith(says) and done.stderr.count("\n") == 1, f"{lock}: {done}")


def test_wrong_options() -> None:
    refused(
        {
            "peers --lock mutex": "'mutex' is none of std,",
            "peers --work queue --threads 1": "a queue needs a producer and a consumer",
            "peers --work nothing": "'nothing' is none of",
            "peers --entries 0": "is not a number from 1",
        }
    )


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
