"""`lockswap why`: waits that any thread may end, when none is left; and right programs that look like it."""

import ctypes.util
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from test_profile import PATIENCE_S, PRELOAD, PROGRAMS, ROOT, environment, line_of

sys.path.insert(0, str(ROOT / "harness"))

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.profile import why
from lockswap.profile.live import State

INITIALISED = PROGRAMS / "profile_initialised"
HUNG = PROGRAMS / "profile_hung"

needs_libdw = pytest.mark.skipif(ctypes.util.find_library("dw") is None, reason="libdw is not installed")


@contextmanager
def started(folder: Path, *command: object) -> Iterator[int]:
    env = environment(LOCKSWAP_PROFILE=str(folder), LD_PRELOAD=str(PRELOAD))
    with subprocess.Popen(list(map(str, command)), env=env, stdout=subprocess.DEVNULL) as child:
        try:
            yield child.pid
        finally:
            child.kill()


def is_asleep(pid: int) -> bool:
    """Whether none of its threads has run for some time: before that it isn't worth a look."""

    def switches() -> list[str]:
        lines = [one.read_text().splitlines() for one in Path(f"/proc/{pid}/task").glob("*/status")]
        return sorted(line for one in lines for line in one if line.startswith(("State:\tR", "voluntary")))

    before = switches()
    time.sleep(0.1)
    return before == switches() and not any("State" in line for line in before)


def until(pid: int, is_there: Callable[[State], bool]) -> tuple[State, str]:
    """What is said when the program has come to where it hangs."""
    end = time.monotonic() + PATIENCE_S
    while True:
        said = "it has just begun"
        while not is_asleep(pid) and time.monotonic() < end:
            time.sleep(0.05)
        with suppress(UserError):
            _, state = why.look(Paths.find(), pid)
            said = why.as_text(state)
            if state.is_recorded and is_there(state):
                return state, said
        assert time.monotonic() < end, said
        time.sleep(0.1)


def first_line(said: str) -> str:
    return said.splitlines()[0].partition("): ")[2]


def waiting(*names: str) -> Callable[[State], bool]:
    return lambda state: {one.name for one in state.threads.values() if one.wait is not None} >= set(names)


NOBODY = "threads wait, and none is left to end that"


@pytest.mark.parametrize(
    ("case", "first"),
    [
        ("destroy", f"a deadlock: both {NOBODY}"),
        ("semaphores", f"a deadlock: all 3 {NOBODY}"),
        ("post", "a deadlock: the only thread waits, and none is left to end that"),
    ],
)
def test_all_threads_wait(tmp_path, case, first):
    with started(tmp_path, HUNG, case) as pid:
        _, said = until(pid, lambda state: first_line(why.as_text(state)) == first)
    if case == "destroy":
        assert re.search(r"Thread \d+ \(profile_hung\) has waited .* for cond filled, which it destroys:", said)
        assert line_of("destroys it", "hung.c") in said
        assert re.search(r"waited for by thread \d+ \(waits\), which must go on first", said)


@pytest.mark.parametrize(
    ("case", "names", "first"),
    [
        ("destroy-beside", ("profile_hung", "waits"), "2 threads wait, no cycle; any thread may end 1 of the waits"),
        (
            "post-handler",
            ("profile_hung",),
            "the only thread waits, and only a signal handler of the program could end",
        ),
        ("post-shared", ("profile_hung",), "1 thread waits, no cycle; any thread may end the wait"),
    ],
)
def test_somebody_is_left(tmp_path, case, names, first):
    with started(tmp_path, HUNG, case) as pid:
        _, said = until(pid, waiting(*names))
    assert first_line(said).startswith(first), said


@needs_libdw
@pytest.mark.parametrize(
    ("case", "what"), [("once-beside", "loaded"), ("once", "loaded"), ("guard-beside", "value()::the_value")]
)
def test_an_initialisation_and_a_mutex(tmp_path, case, what):
    with started(tmp_path, INITIALISED, case) as pid:
        state, said = until(pid, lambda state: bool(state.cycles()))
    (cycle,) = state.cycles()
    assert first_line(said) == "a deadlock" and {one.name for one in cycle} == {"initialises", "uses"}
    initialises, uses = (next(one.tid for one in cycle if one.name == name) for name in ("initialises", "uses"))
    what = f"(anonymous namespace)::{what}"
    assert f"Thread {initialises} (initialises) waits for mutex " in said
    assert f"Thread {uses} (uses) waits for the initialisation of {what}, which thread {initialises} runs" in said
    assert line_of("is a flag" if case.startswith("once") else "is a static variable", "initialised.cpp") in said


@needs_libdw
@pytest.mark.parametrize("case", ["once-slow", "guard-slow"])
def test_an_initialisation_that_takes_its_time(tmp_path, case):
    with started(tmp_path, INITIALISED, case) as pid:
        state, said = until(pid, waiting("uses"))
    assert state.cycles() == [] and state.nobody_left == []
    assert "the initialisation of (anonymous namespace)::" in said
    if case == "once-slow":
        assert first_line(said) == "2 threads wait, no deadlock"
        assert re.search(
            r"Without thread \d+ \(initialises\), which waits for no lock and sleeps in pause, 2 threads", said
        )
    else:  # whose frames cannot all be found, so it isn't known
        assert not first_line(said).startswith("a deadlock")
