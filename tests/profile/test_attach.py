"""`lockswap why` and `profile --pid` of programs that were started without lockswap."""

import ctypes.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from test_profile import PROGRAMS, ROOT, environment, line_of, lockswap

sys.path.insert(0, str(ROOT / "harness"))

from lockswap.base.paths import Paths
from lockswap.outside import target, unwind
from lockswap.profile import why
from lockswap.profile.live import State

HUNG = PROGRAMS / "profile_hung"
UNPREPARED = PROGRAMS / "profile_unprepared"
_PATIENCE_S = 60

needs_libdw = pytest.mark.skipif(ctypes.util.find_library("dw") is None, reason="libdw is not installed")


def at(mark: str) -> str:
    return line_of(mark, "unprepared.c")


@contextmanager
def started(*command: object) -> Iterator[subprocess.Popen]:
    child = subprocess.Popen(list(map(str, command)), env=environment(), stdout=subprocess.PIPE, text=True)
    try:
        yield child
    finally:
        child.kill()
        child.wait()


def ask(pid: int, until: Callable[[dict], object]) -> dict:
    """Asks until the program has come to where it hangs."""
    end = time.monotonic() + _PATIENCE_S
    while True:
        found = why.as_data(state_of(pid))
        if until(found):
            return found
        assert time.monotonic() < end, found


def state_of(pid: int) -> State:
    return why.look(Paths.find(), pid)[1]


def named(found: dict, name: str) -> dict:
    (one,) = (thread for thread in found["threads"] if thread["name"] == name)
    return one


def waits(found: dict) -> list[dict]:
    return [one["waits"] for one in found["threads"] if one["waits"]]


def waiting(count: int) -> Callable[[dict], bool]:
    return lambda found: len(waits(found)) == count


@needs_libdw
def test_a_deadlock_of_two_mutexes():
    with started(HUNG, "deadlock") as child:
        found = ask(child.pid, lambda found: found["cycles"])
        said = lockswap("why", child.pid).stdout
        printed = json.loads(lockswap("why", child.pid, "--json").stdout)
    assert printed == found and found["recorded"] is False
    first, second = named(found, "first-a"), named(found, "first-b")
    assert [sorted(cycle) for cycle in found["cycles"]] == [sorted([first["tid"], second["tid"]])]
    for one, other, holds, wants in ((first, second, "a", "b"), (second, first, "b", "a")):
        assert one["blocked_by"] == [other["tid"]] and one["waits"]["age_ns"] is None
        assert one["waits"]["lock"] == wants and one["holds"][0]["lock"] == holds
        assert line_of(f"waits for {wants}", "hung.c") in one["waits"]["stack"][0]
    assert said.startswith(f"lockswap why: profile_hung (process {child.pid}): a deadlock\n")
    assert f"Thread {first['tid']} (first-a) waits for mutex b, which thread {second['tid']} holds" in said
    assert "It runs without lockswap" in said


@pytest.mark.parametrize("case", ["self", "meetings"])
def test_a_circle_with_the_first_thread(case):
    """A mutex that its owner takes again; and a join of a thread that wants what the joining one holds."""
    with started(HUNG, case) as child:
        found = ask(child.pid, lambda found: found["cycles"])
    (cycle,) = found["cycles"]
    assert child.pid in cycle and len(cycle) == (1 if case == "self" else 2)


def test_a_circle_that_ends_at_a_deadline_is_no_deadlock():
    with started(HUNG, "one-until") as child:
        found = ask(child.pid, lambda found: found["circles_until_a_deadline"])
    assert found["cycles"] == []


@needs_libdw
def test_the_meetings_have_their_names():
    with started(HUNG, "meetings") as child:
        found = ask(child.pid, waiting(4))
    kinds = {one["name"]: one["waits"]["kind"] for one in found["threads"]}
    assert kinds == {"profile_hung": "join", "joined": "mutex", "poster": "semaphore", "comer": "barrier"}
    assert named(found, "poster")["waits"]["lock"] == "the_semaphore"
    assert named(found, "comer")["waits"]["lock"] == "the_barrier"


@needs_libdw
def test_a_condition_is_no_lock_that_somebody_holds():
    with started(HUNG, "lost") as child:
        found = ask(child.pid, waiting(2))
    late = named(found, "late")
    assert (late["waits"]["kind"], late["waits"]["lock"], late["blocked_by"]) == ("cond", "filled", [])


def test_a_thread_that_ended_with_the_lock():
    with started(HUNG, "gone") as child:
        found = ask(child.pid, lambda found: any(one["name"] == "later" and one["waits"] for one in found["threads"]))
    (other,) = (one for one in found["threads"] if one["tid"] in named(found, "later")["blocked_by"])
    assert other["state"] == "has ended"


def test_threads_that_go_on_are_in_no_deadlock():
    with started(HUNG, "busy") as child:
        for _ in range(5):
            assert ask(child.pid, lambda _: True)["cycles"] == []


KINDS = ["normal", "recursive", "errorcheck", "inherit", "robust"]


@needs_libdw
@pytest.mark.parametrize("kind", KINDS)
def test_the_holder_of_each_kind_of_mutex(kind):
    with started(UNPREPARED, "holds", kind) as child:
        found = ask(child.pid, waiting(2))
    holder = named(found, "holder")
    assert [one["lock"] for one in holder["holds"]] == ["hot"]
    for name in ("one", "other"):
        thread = named(found, name)
        assert thread["blocked_by"] == [holder["tid"]]
        assert (thread["waits"]["kind"], thread["waits"]["lock"]) == ("mutex", "hot")
        assert thread["waits"]["place"] == f"wants {at('wants hot')}"
    assert f"holds {at('keeps hot')}" in holder["stack_now"]


@needs_libdw
def test_the_writer_of_an_rwlock_and_who_waits_for_it_how():
    with started(UNPREPARED, "table") as child:
        found = ask(child.pid, waiting(3))
    holder = named(found, "holder")
    for name, mode, mark in (("reader", "shared", "wants to read"), ("one", "exclusive", "wants to write")):
        thread = named(found, name)
        assert holder["tid"] in thread["blocked_by"]
        assert (thread["waits"]["lock"], thread["waits"]["mode"]) == ("table", mode)
        assert at(mark) in thread["waits"]["place"]


def test_the_readers_of_an_rwlock_are_not_known():
    with started(HUNG, "reader") as child:
        found = ask(child.pid, waiting(2))
        said = why.as_text(state_of(child.pid))
    assert named(found, "writer")["blocked_by"] == [] and found["cycles"] == []
    assert "held for reading: glibc's rwlock counts its readers, and doesn't note which threads they are" in said


@needs_libdw
def test_an_initialisation():
    with started(UNPREPARED, "once") as child:
        found = ask(child.pid, waiting(2))
    assert {one["kind"] for one in waits(found)} == {"once"} and found["cycles"] == []


def test_a_lock_that_came_with_the_fork():
    with started(UNPREPARED, "forked") as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        found = ask(child, waiting(1))
        os.kill(child, 9)
    (holder,) = (one for one in found["threads"] if one["holds"])
    assert holder["tid"] == parent.pid
    assert holder["state"] == f"is a thread of process {parent.pid}, which had the lock when this one was forked"


def test_a_program_that_waits_for_no_lock():
    with started("sleep", "60") as child:
        done = lockswap("why", child.pid)
    assert done.returncode == 0
    assert done.stdout.startswith(f"lockswap why: sleep (process {child.pid}): no thread waits for a lock\n")


def test_without_libdw_holders_are_named_and_places_missing(monkeypatch, capsys):
    def missing() -> None:
        raise OSError("libdw.so.1: cannot open shared object file")

    monkeypatch.setattr(unwind, "_library", missing)
    with started(HUNG, "deadlock") as child:
        ask(child.pid, lambda found: found["cycles"])
        assert why.run(Paths.find(), child.pid, as_json=False, with_current=False) == 0
    said = capsys.readouterr().out
    assert "a deadlock\n" in said and "There are no stacks: libdw.so.1 is not installed" in said


@pytest.mark.parametrize(
    ("scope", "says"),
    [
        ("1", "yama/ptrace_scope is 1; ask as root, or set it to 0"),
        ("2", "yama/ptrace_scope is 2, so only root may; ask as root"),
        ("3", "yama/ptrace_scope is 3, which forbids it to all until the next boot; start it with"),
        (None, "ask as its user or as root"),
    ],
)
def test_what_the_kernel_refuses_is_said_in_a_line(monkeypatch, tmp_path, scope, says):
    monkeypatch.setattr(target, "_YAMA", tmp_path / "yama/ptrace_scope")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    if scope is not None:
        (tmp_path / "yama").mkdir()
        target._YAMA.write_text(f"{scope}\n")
    line = target.refusal(4711)
    assert line.startswith("process 4711 runs without lockswap, and the kernel does not let you look into it: ")
    assert says in line and "\n" not in line
