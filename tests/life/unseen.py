#!/usr/bin/env python3
"""Observers change nothing that the program sees: calls return what glibc's own return, a wait that is cancelled is
over, and a library behind the observer sees the program's calls and no others.

    unseen.py LIBRARY REGISTRY FOLDER

Exit status 1 if a test fails.
"""

import difflib
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from under import Skip, emulated, need, run_tests, under_test

under = under_test("LIBRARY REGISTRY FOLDER")
BUILD = under.library.parent
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Observer:
    library: str
    variable: str
    value: str  # {} stands for a folder

    def variables(self, folder: str) -> dict[str, str]:
        return {self.variable: self.value.format(folder)}


OBSERVERS = {
    "profile": Observer("liblockswap.so", "LOCKSWAP_PROFILE", "{}"),
    "record": Observer("liblockswap.so", "LOCKSWAP_RECORD", "{}"),
    "statistics": Observer("liblockswap.so", "LOCKSWAP_STATS", "{}/stats.json"),
    "delay": Observer("liblockswap.so", "LOCKSWAP_DELAY", "module=*:+1us"),
    "audit": Observer("liblockswap-audit.so", "LOCKSWAP_AUDIT", "{}/audit"),
    "fuzz": Observer("liblockswap-fuzz.so", "LOCKSWAP_FUZZ", "1,percent=1,delay=1"),
    "fuzz, no turns": Observer("liblockswap-fuzz.so", "LOCKSWAP_FUZZ", "1,percent=50,delay=1,no-turns"),
}
WITH_DEADLINE_S = 60  # a state is waited for; nothing takes that long


def needs_the_same(what: str, got: str) -> None:
    want = under.run_well("returns", lock=None).stdout.splitlines()
    lines = got.splitlines()
    differ = [(w, g) for w, g in zip(want, lines, strict=False) if w != g]
    need(not differ and len(want) == len(lines), f"{what}: {differ[:3]}, {len(lines)} lines of {len(want)}")


def test_a_profile() -> None:
    for lock in ("", under.mutex, under.plain):
        with tempfile.TemporaryDirectory() as place:
            said = under.run_well("returns", lock=lock, LOCKSWAP_PROFILE=place)
            need(len(list(Path(place).iterdir())) == 1, f"{lock}: no profile")
        needs_the_same(f"profile, {lock}", said.stdout)


def test_fuzz() -> None:
    for seed in SEEDS:
        for words in ("percent=1", "percent=100,spurious", "percent=1,no-turns"):
            how = {"preload": str(BUILD / "liblockswap-fuzz.so"), "LOCKSWAP_FUZZ": f"{seed},{words},delay=1"}
            needs_the_same(f"fuzz {seed},{words}", under.run_well("returns", **how).stdout)


def test_an_audit() -> None:
    with tempfile.TemporaryDirectory() as place:
        how = {"preload": str(BUILD / "liblockswap-audit.so"), "LOCKSWAP_AUDIT": f"{place}/audit"}
        needs_the_same("audit", under.run_well("returns", **how).stdout)


def test_a_library_behind_sees_the_program_s_own_calls() -> None:
    behind = under.folder / "libbehind.so"
    want = under.run_well("returns", preload=str(behind)).stdout
    need("came through" in want, "nothing was counted")
    for name, observer in OBSERVERS.items():
        with tempfile.TemporaryDirectory() as place:
            preload = f"{BUILD / observer.library}:{behind}"
            got = under.run_well("returns", preload=preload, **observer.variables(place)).stdout
        differ = [line for line in difflib.ndiff(want.splitlines(), got.splitlines()) if line[0] in "+-"]
        need(not differ, f"{name}: {differ}")


def test_thread_sanitizer_finds_nothing() -> None:
    program = under.folder / "seen_by_tsan"
    if not program.exists():
        raise Skip("this compiler has no ThreadSanitizer")
    linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    runtime = next(line.split()[2] for line in linked.splitlines() if "libtsan" in line)
    for name, observer in OBSERVERS.items():
        library = str(BUILD / observer.library)
        for preload in (library, f"{runtime}:{library}"):
            with tempfile.TemporaryDirectory() as place:
                done = under.run("seen_by_tsan", preload=preload, **observer.variables(place))
            if "unexpected memory mapping" in done.stderr:
                raise Skip("ThreadSanitizer can't run here")
            need("WARNING: ThreadSanitizer" not in done.stderr, f"{name}, {preload}: {done.stderr[:2000]}")
            need(done.returncode == 0, f"{name}, {preload}: status {done.returncode}, {done.stderr[-500:]}")


def cancelled(kind: str) -> dict:
    """The process as its recording shows it, while a cancelled thread is in its clean-up handler."""
    with tempfile.TemporaryDirectory() as place:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
        environment |= {"LD_PRELOAD": str(under.library), "LOCKSWAP_PROFILE": place}
        command = emulated.command(under.folder / "returns", "cancelled", kind)
        with subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as child:
            try:
                for _ in range(4):
                    need(child.stdout.readline() == "handler\n", "a thread is not cancelled")
                (file,) = Path(place).iterdir()
                return recorded(file)
            finally:
                child.stdin.close()


def recorded(file: Path) -> dict:
    reader = emulated.command(BUILD / "bin/lockswap-profile-read", "--live", file)
    end = time.monotonic() + WITH_DEADLINE_S
    while True:
        done = subprocess.run(reader, capture_output=True, text=True, check=True)
        (process,) = json.loads(done.stdout)["processes"]
        # The first thread may still be about to join, or to wait for input.
        others = [one for one in process["threads_now"] if one["tid"] not in (0, process["pid"])]
        if len(others) == 1 or time.monotonic() > end:
            return process | {"others": others}


def test_a_cancelled_wait_on_a_condition_variable_is_over() -> None:
    process = cancelled("cond")
    (thread,) = process["others"]
    need(thread["waits"] == [], f"it waits: {thread['waits']}")
    need(len(thread["holds"]) == 1, f"it has its mutex again, and holds {thread['holds']}")
    need_nobody_signalled(process)


def test_a_cancelled_wait_for_a_semaphore_is_over() -> None:
    process = cancelled("sem")
    (thread,) = process["others"]
    need(thread["waits"] == [], f"it waits: {thread['waits']}")
    need_nobody_signalled(process)


def need_nobody_signalled(process: dict) -> None:
    """A signal that nobody waits for is not looked up: 100 calls of it, each on another stack."""
    unwound = process["cost"]["unwound"]
    need(unwound < 100, f"{unwound} stacks were unwound")


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
