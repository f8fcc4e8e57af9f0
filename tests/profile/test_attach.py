"""`lockswap why` and `profile --pid` of programs that were started without lockswap."""

import ctypes.util
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from test_profile import PATIENCE_S, PROGRAMS, ROOT, environment, line_of, lockswap

sys.path.insert(0, str(ROOT / "harness"))

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.outside import glibc, machine, target, unwind
from lockswap.outside.stacks import Stacks
from lockswap.outside.stop import Stops
from lockswap.profile import sampled_report, why
from lockswap.profile.attach import Attached
from lockswap.profile.live import State
from lockswap.profile.sampled import Sampler
from lockswap.profile.symbolizer import Function

HUNG = PROGRAMS / "profile_hung"
UNPREPARED = PROGRAMS / "profile_unprepared"

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
    end = time.monotonic() + PATIENCE_S
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
        # A thread that has just begun to wait may still run.
        found = ask(
            child.pid, lambda found: found["cycles"] and {one["state"] for one in found["threads"]} == {"sleeps"}
        )
        said = lockswap("why", child.pid).stdout
        printed = json.loads(lockswap("why", child.pid, "--json").stdout)
    assert printed["recorded"] is False
    for key in ("pid", "program", "cycles", "roots", "threads"):
        assert printed[key] == found[key], key
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
def test_a_cycle_with_the_first_thread(case):
    """A mutex that its owner takes again; and a join of a thread that wants what the joining one holds."""
    with started(HUNG, case) as child:
        found = ask(child.pid, lambda found: found["cycles"])
    (cycle,) = found["cycles"]
    assert child.pid in cycle and len(cycle) == (1 if case == "self" else 2)


def test_a_cycle_that_ends_at_a_deadline_is_no_deadlock():
    with started(HUNG, "one-until") as child:
        found = ask(child.pid, lambda found: found["circles_until_a_deadline"])
    assert found["cycles"] == []


def test_a_program_that_is_stopped():
    with started(HUNG, "deadlock") as child:
        ask(child.pid, lambda found: found["cycles"])
        child.send_signal(signal.SIGSTOP)
        ask(child.pid, lambda found: found["cycles"] and {one["state"] for one in found["threads"]} == {"is stopped"})


def test_a_wait_with_a_deadline_is_seen_after_a_stop():
    """The kernel goes on with restart_syscall then."""
    with started(HUNG, "one-until") as child, target.Target(child.pid) as process:
        ask(child.pid, lambda found: found["circles_until_a_deadline"])
        tids = [int(one.name) for one in Path(f"/proc/{child.pid}/task").iterdir()]
        stops = Stops(process, math.inf)  # on a busy machine a thread that is woken stops late
        assert all(stops.take(tid, 64, lambda: True) for tid in tids)
        ask(child.pid, lambda found: found["circles_until_a_deadline"])


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


def test_the_first_thread_ended_with_the_lock():
    with started(HUNG, "first") as child:
        found = ask(child.pid, lambda found: waits(found) and "ended" in str(found["threads"]))
    (first,) = (one for one in found["threads"] if one["tid"] == child.pid)
    assert (first["name"], first["state"]) == ("profile_hung", "has ended")
    later = named(found, "later")
    assert later["blocked_by"] == [child.pid]
    if ctypes.util.find_library("dw") is not None:
        assert later["waits"]["stack"][0].startswith("later ")


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


# Far more than a stop takes. On a virtual machine a thread has such gaps anyway, so there are some looks.
_LONGEST_STOP_US = 50_000
_LOOKS = 5


@needs_libdw
def test_a_thread_that_runs_is_stopped_for_a_moment(tmp_path):
    gaps = []
    with (tmp_path / "gaps").open("w+") as file:
        child = subprocess.Popen([UNPREPARED, "clock"], env=environment(), stdout=file)
        try:
            ask(child.pid, waiting(2))
            for _ in range(_LOOKS):
                before = file.seek(0, os.SEEK_END)
                found = why.as_data(state_of(child.pid))
                file.seek(before)
                gaps.append(max(map(int, file.read().split()), default=0))
                assert found["longest_stop_ns"] > 0
                clock = named(found, "clock")
        finally:
            child.kill()
            child.wait()
    assert any("looks_at_the_clock unprepared.c" in frame for frame in clock["stack_now"]) or not clock["stack_now"]
    assert min(gaps) < _LONGEST_STOP_US, gaps


@needs_libdw
def test_a_stop_breaks_no_call_off():
    """The program aborts if epoll_wait does not run into its time limit."""
    with started(UNPREPARED, "polls") as child, target.Target(child.pid) as process:
        stops = Stops(process)
        end = time.monotonic() + PATIENCE_S
        while len(tids := [int(one.name) for one in Path(f"/proc/{child.pid}/task").iterdir()]) < 3:
            assert time.monotonic() < end
        assert sum(stops.take(tid, 64, lambda: True) is not None for _ in range(40) for tid in tids) > 0
        assert child.poll() is None


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


class Memory:
    """Words at addresses from 4096 on, in the place of a process."""

    machine = replace(machine.here(), descriptor_to_tid=16)

    def __init__(self, words: dict[int, int]) -> None:
        self._words = words

    def word(self, address: int, size: int = 4) -> int | None:
        low = self._words.get(address, 0)
        return low if size == 4 else low | self._words.get(address + 4, 0) << 32

    def words(self, address: int, count: int) -> tuple[int, ...]:
        return tuple(self._words.get(address + 4 * n, 0) for n in range(count))


AT, TIDS = 8192, {71, 72}
_DESCRIPTOR = AT - 800


@pytest.mark.parametrize(
    ("wait", "words", "kind", "owner"),
    [
        (target.FutexWait(AT, 2, 0, True, False), {AT: 2, AT + 8: 72, AT + 12: 1}, "mutex", 72),
        (target.FutexWait(AT, 2, 0, True, False), {AT: 2, AT + 8: 99}, "futex", 0),
        (target.FutexWait(AT, 0x80000048, 0, True, False), {AT: 0x80000048, AT + 8: 72, AT + 16: 16}, "mutex", 72),
        (target.FutexWait(AT, 72, 6, True, False), {AT: 72, AT + 8: 72, AT + 16: 32}, "mutex", 72),
        (target.FutexWait(AT, 72, 9, False, False), {AT: 72}, "join", 72),
        (target.FutexWait(AT, 2, 9, False, False), {AT: 2, _DESCRIPTOR: _DESCRIPTOR, _DESCRIPTOR + 16: 72}, "join", 72),
        (target.FutexWait(AT, 2, 9, False, False), {AT: 2, _DESCRIPTOR + 16: 72}, "futex", 0),
        (target.FutexWait(AT, 0, 9, True, False), {AT + 4: 1, AT + 8: 0}, "semaphore", 0),
        (target.FutexWait(AT, 7, 9, True, False), {AT: 7}, "futex", 0),
    ],
)
def test_what_memory_says_where_functions_have_no_names(wait, words, kind, owner):
    found = glibc.waited_for(Memory(words), wait, ["", ""], TIDS)
    assert (found.kind, found.address, found.owner) == (kind, AT, owner)


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


def sampled(pid: int, seconds: float = 1.0) -> dict:
    """Samples again until there is something of the holder."""
    attached = Attached(pid, needs_recording=False)
    end = time.monotonic() + PATIENCE_S
    while True:
        with target.Target(pid) as process:
            stacks = Stacks(process)
            sampler = Sampler(attached, process, stacks)
            found = sampler.run(seconds)
        places = sampled_report.Places(sampler.attached, found.stacks(), {one.address for one in found.locks.values()})
        locks = sampled_report.named(found, places)
        data = sampled_report.as_data(pid, found, locks, stacks)
        if data["locks"] and sum(one["samples"] for one in data["locks"][0]["holder_stacks"]) >= _STACKS:
            return data
        assert time.monotonic() < end, data
        seconds *= 2


_STACKS = 4
PLANTED = [  # case, kind of mutex, the lock, its holder and its waiter
    *(("sleeps", kind, "mutex hot", "sleeps with hot", "waits for hot") for kind in KINDS),
    ("computes", "normal", "mutex hot", "computes with hot", ""),
    ("polls", "normal", "mutex hot", "polls with hot", ""),
    ("reads", "normal", "mutex hot", "reads with hot", ""),
    ("object", "normal", "mutex at uses_object {}", "sleeps with the object", "waits for the object"),
    ("two", "normal", "mutex hot", "sleeps with hot", "waits for hot"),
    ("condition", "normal", "mutex hot", "fills with hot", ""),
    ("writes", "normal", "rwlock table", "writes the table", ""),
]


@needs_libdw
@pytest.mark.parametrize(("case", "kind", "lock", "holds", "wants"), PLANTED)
def test_the_hottest_lock_its_holder_and_the_line(case, kind, lock, holds, wants):
    with started(UNPREPARED, case, kind) as child:
        found = sampled(child.pid)
    first = found["locks"][0]
    assert f"{first['kind']} {first['lock']}" == lock.format(at(wants) if wants else ""), first
    assert set(first["owners"]) <= {"one", "other"}
    assert any(frame.endswith(at(holds)) for frame in first["holds"][0]["stack"]), first["holds"]
    if wants:
        assert any(stack["stack"][0].endswith(at(wants)) for stack in first["waiter_stacks"])


@needs_libdw
def test_samples_by_the_command(tmp_path):
    with started(UNPREPARED, "sleeps") as child:
        done = lockswap("profile", "--pid", child.pid, "--seconds", 1, "-o", tmp_path / "out")
    assert done.returncode == 0, done
    assert " from outside, since it runs without lockswap" in done.stderr.replace("\n ", "")
    assert "1. mutex hot (1 object" in done.stderr
    # A thread is stopped only if it was found running.
    assert re.search(
        r"(the longest for|1 thread was stopped for|No thread was stopped)", done.stderr.replace("\n", " ")
    )
    found = json.loads((tmp_path / "out/samples.json").read_text())
    assert found["locks"][0]["lock"] == "hot" and found["samples"] > 0
    assert (tmp_path / "out/profile.txt").read_text() in done.stderr


@needs_libdw
def test_the_locks_each_second():
    with started(UNPREPARED, "sleeps") as child:
        for seconds in (1, 4, 20, 100):  # on a busy machine few samples are of the holder
            done = lockswap("top", child.pid, "--count", 2, "--interval", seconds)
            assert done.returncode == 0, done
            if "holder at" in done.stdout:
                break
    tables = done.stdout.rstrip().split("\n\n")
    assert len(tables) == 2
    for table in tables:
        assert table.startswith(f"lockswap top: profile_unprepa (process {child.pid}), sampled from outside, since ")
        assert re.search(r"^ +\d\.\d\d +\d+ %  mutex hot$", table, re.MULTILINE), table
    assert " holder at nap unprepared.c:" in done.stdout, done
    assert f" waited at sleeps {at('waits for hot')}\n" in done.stdout, done


def test_a_program_without_waits_each_second_until_its_end():
    with started("sleep", "600") as child:
        words = [sys.executable, "-m", "lockswap", "top", str(child.pid), "--interval", "0.2"]
        with subprocess.Popen(words, env=environment(), stdout=subprocess.PIPE, text=True) as asked:
            seen = [asked.stdout.readline() for _ in range(4)]
            child.kill()
            seen += asked.stdout.readlines()
    assert seen[2] == "no thread was seen waiting for a lock\n"
    assert seen[-1] == f"lockswap top: sleep (process {child.pid}) has ended\n"
    assert asked.returncode == 0


def test_a_program_without_waits_is_sampled():
    with started("sleep", "60") as child:
        done = lockswap("profile", "--pid", child.pid, "--seconds", 0.2)
    assert done.returncode == 0 and "No thread was seen waiting for a lock." in done.stderr


def test_a_program_that_ends_while_it_is_sampled(monkeypatch, capsys):
    sample = Sampler._sample
    with started("sleep", "60") as child:

        def sample_and_kill(self: Sampler, with_owner: bool) -> bool:
            try:
                return sample(self, with_owner)
            finally:
                child.kill()  # its status is not asked for yet

        monkeypatch.setattr(Sampler, "_sample", sample_and_kill)
        assert sampled_report.watch(child.pid, 3600, 20, None) == 0
    assert "It ended meanwhile." in capsys.readouterr().err


def test_what_most_stacks_share():
    main, held, deep, other = (Function(name) for name in ("main", "held", "deep", "other"))
    stacks = Counter({(main, held, deep): 4, (main, held, other): 3, (main, held): 2, (other,): 1})
    assert sampled_report.common_paths(stacks) == [(0.9, (main, held)), (0.1, (other,))]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
@needs_libdw
def test_the_same_user_need_not_be_root():
    """The program lies where that user may read; the harness may not, so it is loaded before."""
    script = (
        "import os, subprocess, sys\n"
        "import lockswap.cli, lockswap.profile.unrecorded, lockswap.profile.why as why\n"
        "from lockswap.base.errors import UserError\n"
        "from lockswap.profile.attach import Attached\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "try: print(why.as_text(why.unrecorded.read(Attached(int(sys.argv[1]), needs_recording=False))))\n"
        "except UserError as error: print(error)\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "profile_hung"
        shutil.copy(HUNG, program)
        Path(folder).chmod(0o755)
        child = subprocess.Popen([program, "deadlock"], user=65534, group=65534, extra_groups=[])
        try:
            ask(child.pid, lambda found: found["cycles"])
            command = [sys.executable, "-c", script]
            done = subprocess.run([*command, str(child.pid)], env=environment(), capture_output=True, text=True)
            refused = subprocess.run([*command, str(os.getpid())], env=environment(), capture_output=True, text=True)
        finally:
            child.kill()
            child.wait()
    assert "a deadlock\n" in done.stdout and line_of("waits for b", "hung.c") in done.stdout, done
    assert "may not be inspected; ask as that user or as root" in refused.stdout, refused


def test_a_refused_profile_leaves_no_folder(monkeypatch, tmp_path):
    def refuse(*_: object) -> int:
        raise PermissionError

    (tmp_path / "out").mkdir()
    with started("sleep", "60") as child:
        monkeypatch.setattr(target.os, "open", refuse)
        with pytest.raises(UserError, match="the kernel does not let you look into it"):
            sampled_report.watch(child.pid, 1, 20, tmp_path / "out")
    assert not (tmp_path / "out").exists()


_CAN_TRACE_ALL = 1 << 19  # CAP_SYS_PTRACE


def _capabilities() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1], 16) for line in lines if line.startswith("CapEff:"))


@pytest.mark.skipif(not _capabilities() & _CAN_TRACE_ALL, reason="without CAP_SYS_PTRACE nothing can be dropped")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed")
def test_root_without_the_right_to_trace():
    """As in a container."""
    with started("sleep", "60") as child:
        drop = ["setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace"]
        command = [*drop, sys.executable, "-m", "lockswap", "why", str(child.pid)]
        done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "root has no CAP_SYS_PTRACE here; give it to the container" in done.stderr
    assert done.stderr.count("\n") == 1
