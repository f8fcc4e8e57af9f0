#!/usr/bin/env python3
"""Limits, filters of system calls, sandboxes, clocks that are set, holds that last: what works under glibc's locks
works under ours.

    hostile.py LIBRARY REGISTRY FOLDER [--full]

Each test under each lock and mutex with --full; else under some of them.
Exit status 1 if one fails.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "life"))
from under import need, run_tests, run_to_the_end, under_test

under = under_test("LIBRARY REGISTRY FOLDER [--full]")
FULL = "--full" in sys.argv[4:]
AT_ONCE = 2  # programs that mostly wait
MB = 1 << 20
MOST_KB = 4 << 10  # of address space, more than plain; docs/interposition.md has the figures

listed = json.loads(subprocess.run(under.registry, check=True, capture_output=True, text=True).stdout)


def ours(rows: list[dict]) -> dict[str, dict]:
    """Those that are not glibc's own, by name."""
    glibcs = {row["name"] for row in rows if row["passes_through"]}
    return {row["name"]: row for row in rows if (row["chosen"] or row["name"]) not in glibcs}


RWLOCKS, MUTEXES = ours(listed["rwlocks"]), ours(listed["mutexes"])
RANGES = [lock["name"] for lock in listed["range_locks"]]


def some(names: Iterable[str], share: int) -> list[str]:
    """One in `share`; all with --full."""
    names = list(names)
    return names if FULL else names[::share]


def ways(number: int, all_of_them: list, share: int) -> list:
    """Those for lock NUMBER: all with --full; else one in `share`, and for the next lock the next ones."""
    return all_of_them if FULL else all_of_them[number % share :: share]


def pairs(share: int) -> list[dict[str, str]]:
    """The variables for each rwlock with a mutex, so that each mutex is among them; without --full one in `share`."""
    return all_pairs() if FULL else all_pairs()[::share]


def all_pairs() -> list[dict[str, str]]:
    mutexes = list(MUTEXES)
    return [{"LOCKSWAP_RWLOCK": lock, "LOCKSWAP_MUTEX": mutexes[i % len(mutexes)]} for i, lock in enumerate(RWLOCKS)]


def run(*command: object, limit: int | None = None, status: int = 0, **variables: str) -> str:
    """What the program prints, under a limit of address space."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
    if variables:
        environment |= variables | {"LD_PRELOAD": str(under.library)}
    program, *arguments = map(str, command)

    def confine() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    what = f"{' '.join(map(str, command))} under {variables}"
    command_line = [under.folder / f"hostile_{program}", *arguments]
    result = run_to_the_end(command_line, what, env=environment, preexec_fn=confine)
    need(result.returncode == status, f"{what}: status {result.returncode}, {result.stderr[-500:]!r}")
    return result.stdout


def for_each(jobs: Iterable[object], test: Callable[..., object], at_once: int = AT_ONCE) -> None:
    with ThreadPoolExecutor(at_once) as pool:
        failures = [f.exception() for f in [pool.submit(test, job) for job in jobs]]
    texts = [str(f) for f in failures if f is not None]
    need(not texts, "; ".join(texts))


# --- limits


def test_address_space_after_start() -> None:
    def figures(**variables: str) -> tuple[int, int]:
        space, locked = run("limits", "footprint", **variables).split()
        return int(space), int(locked)

    space, locked = figures()

    def check(variables: dict[str, str]) -> None:
        more, more_locked = figures(**variables)
        print(f"        {variables}: {more - space:+} kB of address space, {more_locked - locked:+} kB locked")
        need(more - space <= MOST_KB, f"{variables} take {more - space} kB of address space")
        need(locked < 0 or more_locked - locked <= MOST_KB, f"{variables} lock {more_locked - locked} kB")

    for_each([{"LOCKSWAP_RWLOCK": a, "LOCKSWAP_MUTEX": b} for a, b in also_same_names()], check)


def also_same_names() -> list[tuple[str, str]]:
    chosen = [(p["LOCKSWAP_RWLOCK"], p["LOCKSWAP_MUTEX"]) for p in pairs(4)]
    return chosen + [(name, name) for name in some(MUTEXES, 3) if name in RWLOCKS]


def test_a_program_has_nearly_all_of_its_limit() -> None:
    for_each(pairs(4), lambda p: run("limits", "allocates", 150, limit=260 * MB, **p))


def test_locks_go_on_when_there_is_memory_again() -> None:
    # The limit of address space once made the supply of nodes small, so that three seconds used it up. Threads that
    # wait for memory look for it all the time.
    ms = 2000 if FULL else 100

    def check(job: tuple[str, dict[str, str]]) -> None:
        kind, variables = job
        came = run("limits", "starved", ms, kind, limit=140 * MB, **variables)
        print(f"        {variables} {kind}: {came.strip()} of 64 threads needed no memory")

    jobs = [(k, {"LOCKSWAP_RWLOCK": lock}) for lock in some(RWLOCKS, 6) for k in ("read", "write")]
    jobs += [("mutex", {"LOCKSWAP_MUTEX": mutex}) for mutex in some(MUTEXES, 3)]
    for_each(jobs, check)


def test_deadlines_are_kept_without_memory() -> None:
    for_each(some(RWLOCKS, 8), lambda name: run("limits", "late", LOCKSWAP_RWLOCK=name))


def test_conditions_are_waited_for_without_memory() -> None:
    """A wait whose node is refused ends for no reason, instead of keeping the mutex from the others."""
    chosen = [{"LOCKSWAP_MUTEX": "auto"}, {"LOCKSWAP_COND": "own"}]
    for_each(chosen, lambda variables: run("limits", "waiters", 1200, **variables))


def test_a_fifth_hold_without_a_record_can_be_read_again() -> None:
    names = [name for name, lock in RWLOCKS.items() if "recursive-read" in lock["capabilities"]]
    for_each(names, lambda name: run("limits", "fifth", LOCKSWAP_RWLOCK=name))


def test_many_locks_are_alive_at_once() -> None:
    many = 300_000 if FULL else 30_000
    for_each(pairs(8), lambda p: run("limits", "many", many, **p))


# --- filters

CALLS = ("gettid", "madvise", "membarrier", "sched_yield", "nanosleep", "sched_getattr", "sched_getaffinity", "prctl")
# The loader cannot do without the others.
LATE_CALLS = (*CALLS, "mprotect", "openat", "rt_sigprocmask", "fstat", "pread64")


def fits(call: str, when: str, variables: dict[str, str]) -> bool:
    """Whether the locks can start where that call is refused."""
    lock = RWLOCKS[variables["LOCKSWAP_RWLOCK"]]
    return not (when == "early" and call == "membarrier" and lock["asymmetric"])


def test_refused_calls() -> None:
    chosen = pairs(8)
    jobs = [
        (call, when, variables)
        for when, calls in (("early", CALLS), ("late", LATE_CALLS))
        for number, call in enumerate(calls)
        for variables in (chosen if FULL else [chosen[number % len(chosen)]])
        if fits(call, when, variables)
    ]
    # Without a swapped mutex, which would ask for the child's number before the rwlock does.
    jobs += [("madvise", "early", {"LOCKSWAP_RWLOCK": name}) for name in some(RWLOCKS, 8)]
    short_waits = [(call, p) for call in ("sched_yield", "nanosleep", "sched_getattr") for p in some_pairs()]
    jobs += [(call, "early", p | {"LOCKSWAP_WAIT": "yield"}) for call, p in short_waits]
    for_each(jobs, lambda job: run("filters", job[0], job[1], **job[2]))
    # One after the other: spinning threads keep their processors, so each turn of a strict lock takes a time slice of
    # all that runs besides.
    for call, p in short_waits:
        run("filters", call, "early", LOCKSWAP_WAIT="spin", **p)


def test_each_child_has_a_profile_of_its_own() -> None:
    """Also where the kernel refuses to empty memory at a fork."""

    def files(call: str) -> int:
        with tempfile.TemporaryDirectory() as folder:
            run("filters", call, "early", LOCKSWAP_PROFILE=folder)
            return len(list(Path(folder).glob("*.lockprof")))

    usual, refused = files("sched_yield"), files("madvise")
    need(usual > 1 and refused == usual, f"{refused} files, usually {usual}")


def some_pairs() -> list[dict[str, str]]:
    chosen = [p for p in pairs(8) if not RWLOCKS[p["LOCKSWAP_RWLOCK"]]["asymmetric"]]
    return chosen if FULL else chosen[:1]


def test_another_threads_recursive_mutex() -> None:
    for_each(MUTEXES, lambda name: run("filters", "gettid", "early", LOCKSWAP_MUTEX=name))


def test_asymmetric_locks_say_that_they_need_the_barrier() -> None:
    for name in some([n for n, lock in RWLOCKS.items() if lock["asymmetric"]], 4):
        run("filters", "membarrier", "early", status=2, LOCKSWAP_RWLOCK=name)


# --- sandboxes

CONFINED = [(mode, who) for mode in ("strict", "clock") for who in ("main", "thread", "child", "clone")]


def test_no_call_and_no_clock() -> None:
    names = [n for n, lock in RWLOCKS.items() if not lock["asymmetric"]]
    mutexes = list(MUTEXES)
    jobs = [
        (mode, who, {"LOCKSWAP_RWLOCK": name, "LOCKSWAP_MUTEX": mutexes[i % len(mutexes)]})
        for i, name in enumerate(names)
        for mode, who in ways(i, CONFINED, 4)
    ]
    for_each(jobs, lambda job: run("sandbox", job[0], job[1], **job[2]))


def test_mutexes_need_no_call_and_no_clock() -> None:
    jobs = [(mode, who, name) for i, name in enumerate(MUTEXES) for mode, who in ways(i, CONFINED, 4)]
    for_each(jobs, lambda job: run("sandbox", job[0], job[1], LOCKSWAP_MUTEX=job[2]))


# --- clocks, and holds that last: programs that only wait


def test_times_of_the_locks_own_run_on_no_clock_that_is_set() -> None:
    steps = ["back realtime", "back monotonic", "back none", "forward"]
    jobs = [(name, step) for i, name in enumerate(RWLOCKS) for step in ways(i, steps, 2)]
    for_each(jobs, lambda job: run("clocks", *job[1].split(), LOCKSWAP_RWLOCK=job[0]), at_once=8)


def test_threads_behind_a_hold_that_lasts_sleep() -> None:
    threads, seconds = 20, 6
    # Each look by itself costs a wake-up. Two seconds after a wait began there is one at most in six seconds; behind a
    # hold that a reader's patience can't end there once were 300.
    mean, most = 3, 7

    def check(variables: dict[str, str]) -> None:
        for line in run("idle", threads, 2000, seconds, LOCKSWAP_WAIT="park", **variables).splitlines():
            kind, all_of_them, of_one, took = line.split()
            what = f"{variables}, {kind}: {all_of_them} wake-ups of {threads} threads in {took} s, {of_one} of one"
            print(f"        {what}")
            times = max(1, float(took) / seconds)  # the sleep of six seconds is longer on a busy machine
            need(int(all_of_them) <= mean * threads * times and int(of_one) <= most * times, what)

    for_each(all_pairs(), check, at_once=12)


# --- range locks


def test_range_locks_without_memory() -> None:
    for_each(RANGES, lambda name: run("ranges", name, "starved"))


def test_range_locks_in_a_sandbox() -> None:
    for_each([(n, m) for n in RANGES for m in ("strict", "clock")], lambda job: run("ranges", *job))


sys.exit(run_tests(globals()))
