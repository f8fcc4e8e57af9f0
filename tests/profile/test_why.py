"""`lockswap why`: of a program that hangs in a known way, it says which. And what cannot be looked at, of all commands
that look at a process, has one line that says why."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from test_profile import FIRST, LISTED, MUTEX, PATIENCE_S, PRELOAD, ROOT, environment, line_of, lockswap

sys.path.insert(0, str(ROOT / "harness"))

from lockswap.base.errors import UserError
from lockswap.base.process import has_ended
from lockswap.profile.attach import Attached

HUNG = ROOT / "build/tests/profile/profile_hung"


def at(mark: str) -> str:
    return line_of(mark, "hung.c")


@contextmanager
def started(folder: Path, case: str, **more: str) -> Iterator[subprocess.Popen]:
    variables = {"LOCKSWAP_PROFILE": str(folder), "LD_PRELOAD": str(PRELOAD)} | more
    child = subprocess.Popen([HUNG, case], env=environment(**variables), stdout=subprocess.PIPE, text=True)
    try:
        yield child
    finally:
        child.kill()
        child.wait()


def ask(pid: int, until: Callable[[dict], object]) -> dict:
    """Asks until the program has come to where it hangs."""
    end = time.monotonic() + PATIENCE_S
    while True:
        done = lockswap("why", pid, "--json")
        if "either it has just started" not in done.stderr:
            assert done.returncode == 0, done
            if until(json.loads(done.stdout)):
                return json.loads(done.stdout)
        assert time.monotonic() < end, done


def text(pid: int) -> str:
    done = lockswap("why", pid)
    assert done.returncode == 0 and done.stderr == "", done
    return done.stdout


def named(found: dict, name: str) -> dict:
    (one,) = (thread for thread in found["threads"] if thread["name"] == name)
    return one


def waiting(count: int) -> Callable[[dict], bool]:
    """That many besides the first thread, which joins the others."""
    return lambda found: (
        sum(one["waits"] is not None and one["waits"]["kind"] != "join" for one in found["threads"]) == count
    )


CHOICES = [{}, {"LOCKSWAP_RWLOCK": FIRST, "LOCKSWAP_MUTEX": MUTEX}]


@pytest.mark.parametrize("choice", CHOICES)
def test_a_deadlock_of_two_mutexes(tmp_path, choice):
    with started(tmp_path, "deadlock", **choice) as child:
        found = ask(child.pid, lambda found: found["cycles"])
        said = text(child.pid)
    first, second = named(found, "first-a"), named(found, "first-b")
    assert [sorted(cycle) for cycle in found["cycles"]] == [sorted([first["tid"], second["tid"]])]
    for one, other, holds, wants in ((first, second, "a", "b"), (second, first, "b", "a")):
        assert one["blocked_by"] == [other["tid"]]
        assert one["waits"]["lock"] == wants and at(f"waits for {wants}") in one["waits"]["stack"][0]
        (hold,) = one["holds"]
        assert hold["lock"] == holds and at(f"holds {holds}") in hold["place"]
        assert one["waits"]["age_ns"] > 0
    assert "a deadlock\n" in said and "Deadlock of 2 threads:" in said
    assert f"(first-a) waits for mutex b, which thread {second['tid']} holds" in said


def test_since_when(tmp_path):
    with started(tmp_path, "deadlock") as child:
        ask(child.pid, lambda found: found["cycles"])
        begin = time.monotonic()
        first = ask(child.pid, lambda found: found["cycles"])
        time.sleep(1)
        second = ask(child.pid, lambda found: found["cycles"])
        most = time.monotonic() - begin
    older, newer = (named(one, "first-a")["waits"]["age_ns"] / 1e9 for one in (first, second))
    # Each look takes the speed of the processor's counter anew.
    assert 0.95 < newer - older < 1.05 * most


@pytest.mark.parametrize(("case", "ending"), [("until", {"first-a", "first-b"}), ("one-until", {"first-a"})])
def test_a_cycle_that_ends_at_a_deadline(tmp_path, case, ending):
    with started(tmp_path, case) as child:
        found = ask(child.pid, lambda found: found["circles_until_a_deadline"])
        said = text(child.pid)
    both = {named(found, name)["tid"]: name for name in ("first-a", "first-b")}
    assert found["cycles"] == [] and "no deadlock" in said and "Deadlock" not in said
    assert [sorted(one) for one in found["circles_until_a_deadline"]] == [sorted(both)]
    assert {both[tid] for tid in both if named(found, both[tid])["waits"]["has_deadline"]} == ending
    assert "A cycle of 2 threads, which ends when thread" in said
    assert said.count(", and waits until a deadline:") == len(ending)


def test_a_mutex_that_its_owner_takes_again(tmp_path):
    with started(tmp_path, "self") as child:
        found = ask(child.pid, lambda found: found["cycles"])
        assert "which it holds itself" in text(child.pid)
    assert found["cycles"] == [[child.pid]]


def test_a_chain_ends_at_the_thread_that_all_wait_for(tmp_path):
    with started(tmp_path, "chain") as child:
        found = ask(child.pid, waiting(2))
        said = text(child.pid)
    head = named(found, "head")
    assert found["cycles"] == [] and found["roots"] == [{"tid": head["tid"], "threads": 3}]
    assert named(found, "tail")["blocked_by"] == [named(found, "middle")["tid"]]
    assert at("head holds") in head["holds"][0]["place"]
    cannot = (
        rf"Without thread {head['tid']} \(head\), which waits for no lock and sleeps in \w+, 3 threads cannot go on\."
    )
    assert re.search(cannot, said)
    (first,) = (one for one in found["threads"] if one["waits"] and one["waits"]["kind"] == "join")
    assert first["tid"] == child.pid and first["blocked_by"] == [named(found, "middle")["tid"]]
    assert f"it is thread {named(found, 'middle')['tid']} (middle), which waits for mutex a" in said


@pytest.mark.parametrize("how", ["cancelled", "jump"])
def test_a_lock_that_is_handed_to_a_thread_that_left_its_call(tmp_path, how):
    assert next(row for row in LISTED["mutexes"] if row["name"] == MUTEX)["hands_off"]
    with started(tmp_path, f"left-{how}", LOCKSWAP_MUTEX=MUTEX) as child:
        found = ask(child.pid, lambda found: waiting(1)(found) and named(found, "next")["blocked_by"])
        said = text(child.pid)
    (leaver,) = (one for one in found["threads"] if one["left"])
    assert named(found, "next")["blocked_by"] == [leaver["tid"]] and leaver["waits"] is None
    assert leaver["left"]["lock"] == "a"
    assert at("is cancelled" if how == "cancelled" else "jumps") in leaver["left"]["place"]
    assert (leaver["state"] == "has ended") == (how == "cancelled")
    assert f"handed to thread {leaver['tid']} ({leaver['name']}), which left its call at " in said
    assert f"Without thread {leaver['tid']} (" in said


def test_a_lock_that_is_handed_to_a_thread_in_a_signal_handler(tmp_path):
    with started(tmp_path, "handed", LOCKSWAP_MUTEX=MUTEX) as child:
        ask(child.pid, lambda found: waiting(2)(found) and named(found, "next")["blocked_by"])
        said = text(child.pid)
    first, *_ = said.splitlines()
    assert re.search(
        r": 2 threads wait, and mutex a was handed to thread \d+ \(away\), which sleeps in rt_sigsuspend$", first
    )
    assert said.count("which can't take it: it sleeps in rt_sigsuspend, in a signal handler") == 2
    assert f"    now stay_away {at('stays away')}\n" in said and "held by" not in said


def test_a_thread_in_a_signal_handler_keeps_no_other_one_from_glibc_s_mutex(tmp_path):
    with started(tmp_path, "handed") as child:
        found = ask(child.pid, lambda found: waiting(1)(found) and named(found, "away")["blocked_by"])
        said = text(child.pid)
    assert named(found, "away")["blocked_by"] == [named(found, "next")["tid"]] and "handed" not in said.splitlines()[0]


@pytest.mark.parametrize("choice", CHOICES)
def test_a_reader_that_never_leaves(tmp_path, choice):
    with started(tmp_path, "reader", **choice) as child:
        found = ask(child.pid, waiting(1))
        said = text(child.pid)
    reader, writer = named(found, "reader"), named(found, "writer")
    assert writer["blocked_by"] == [reader["tid"]] and writer["waits"]["mode"] == "exclusive"
    assert at("writer waits") in writer["waits"]["place"]
    (hold,) = reader["holds"]
    assert (hold["lock"], hold["mode"]) == ("table", "shared") and at("reader holds") in hold["place"]
    assert f"held for reading by thread {reader['tid']} (reader)" in said


def test_equal_waits_are_one_line_with_a_count(tmp_path):
    with started(tmp_path, "many") as child:
        ask(child.pid, waiting(60))
        said = text(child.pid)
    assert len(said.splitlines()) < 40
    for name, lock in (("client", "rwlock table to write"), ("idle", "cond filled")):
        assert re.search(
            rf"^30 threads \({name}: \d+, \d+, \d+, \.\.\.\) have waited .* for {lock}:$", said, re.MULTILINE
        )
    assert said.count(at("many wait")) == 1 and said.count("held for reading by thread") == 1


def test_two_readers_that_both_want_to_write(tmp_path):
    with started(tmp_path, "upgrade") as child:
        found = ask(child.pid, waiting(2))
    both = {named(found, name)["tid"] for name in ("upgrader", "upgrader-too")}
    assert both in [set(cycle) for cycle in found["cycles"]]


def test_a_signal_that_came_before_the_wait(tmp_path):
    with started(tmp_path, "lost") as child:
        found = ask(child.pid, waiting(1))
        said = text(child.pid)
    wait = named(found, "late")["waits"]
    assert (wait["kind"], wait["lock"]) == ("cond", "filled") and at("waits for the signal") in wait["place"]
    line = next(line for line in said.splitlines() if "signalled" in line)
    signaller = named(found, "signaller")["tid"]
    assert "not signalled since; last " in line and " before the wait began" in line
    assert f"by thread {signaller} at signaller {at('signals')}" in line


def test_a_signal_in_time_to_a_thread_that_cannot_have_the_mutex(tmp_path):
    with started(tmp_path, "kept") as child:
        found = ask(child.pid, lambda found: waiting(1)(found) and any(one["holds"] for one in found["threads"]))
        deadline = time.monotonic() + PATIENCE_S
        while "its mutex is held by" not in (said := text(child.pid)):
            assert time.monotonic() < deadline, said
    keeper = named(found, "keeper")["tid"]
    assert f"ago, by thread {keeper} at keeper {at('signals in time')}" in said
    assert f"its mutex is held by thread {keeper} (keeper)" in said and at("keeps the mutex") in said


def test_a_signalled_thread_waits_for_the_mutex(tmp_path):
    with started(tmp_path, "kept") as child:
        found = ask(child.pid, lambda found: found["roots"] and found["roots"][0]["threads"] == 2)
        said = text(child.pid)
    keeper = named(found, "keeper")["tid"]
    assert named(found, "early")["blocked_by"] == [keeper]
    assert found["roots"] == [{"tid": keeper, "threads": 2}]  # the first thread joins it
    cannot = rf"Without thread {keeper} \(keeper\), which waits for no lock and sleeps in \w+, 2 threads cannot go on\."
    assert re.search(cannot, said)


def test_a_deadlock_through_the_mutex_of_a_condition(tmp_path):
    with started(tmp_path, "crossed") as child:
        found = ask(child.pid, lambda found: found["cycles"])
        said = text(child.pid)
    waits, signals = (named(found, name)["tid"] for name in ("waits", "signals"))
    assert [sorted(cycle) for cycle in found["cycles"]] == [sorted([waits, signals])]
    assert f"Thread {waits} (waits) was signalled, and waits for mutex a, which thread {signals} holds" in said
    assert f"Thread {signals} (signals) waits for mutex b, which thread {waits} holds" in said


def test_a_thread_that_was_not_signalled_waits_for_no_mutex(tmp_path):
    with started(tmp_path, "unsignalled") as child:
        found = ask(child.pid, lambda found: waiting(2)(found) and named(found, "wants")["holds"])
    assert found["cycles"] == [] and named(found, "waits")["blocked_by"] == []
    assert named(found, "wants")["blocked_by"] == [named(found, "waits")["tid"]]


def test_of_two_that_wait_the_other_one_was_signalled(tmp_path):
    with started(tmp_path, "one-of-two") as child:

        def is_there(found: dict) -> bool:
            there = {one["name"] for one in found["threads"] if one["waits"] or one["holds"]}
            return "signals" in there and len(there & {"one", "other"}) == 1 and bool(named(found, "signals")["holds"])

        found = ask(child.pid, is_there)
        said = text(child.pid)
    (left,) = (one for one in found["threads"] if one["name"] in ("one", "other"))
    assert left["waits"]["kind"] == "cond" and left["blocked_by"] == []
    assert "perhaps for another thread" in said


def test_a_semaphore_a_barrier_and_a_join(tmp_path):
    """Nobody is known to keep the first two waiting. The third one is in a cycle."""
    with started(tmp_path, "meetings") as child:
        found = ask(child.pid, lambda one: waiting(3)(one) and one["cycles"])
        said = text(child.pid)
    for name, kind, mark in (("poster", "semaphore", "waits for a post"), ("comer", "barrier", "waits for the others")):
        wait = named(found, name)["waits"]
        assert (wait["kind"], wait["lock"]) == (kind, f"the_{kind}") and at(mark) in wait["place"]
        assert named(found, name)["blocked_by"] == []
    assert "a post by any thread ends that" in said and "the last of its threads to arrive ends that" in said
    joined = named(found, "joined")["tid"]
    assert [sorted(cycle) for cycle in found["cycles"]] == [sorted([child.pid, joined])]
    assert f"waits for the end of thread {joined}" in said and f"it is thread {joined} (joined), which" in said


def test_a_thread_that_ended_with_the_lock(tmp_path):
    with started(tmp_path, "gone") as child:
        found = ask(child.pid, waiting(1))
    later = named(found, "later")
    (other,) = (one for one in found["threads"] if one["tid"] in later["blocked_by"])
    assert other["state"] == "has ended" and at("leaves it locked") in other["holds"][0]["place"]


def test_the_name_of_a_thread_that_ended_with_the_lock(tmp_path):
    with started(tmp_path, "gone") as child:
        ask(child.pid, waiting(1))
        first, *_ = text(child.pid).splitlines()
    assert re.search(r": 2 threads wait, and mutex a is held by thread \d+ \(forgetful\), which has ended$", first), (
        first
    )


def test_the_first_thread_ended_with_the_lock(tmp_path):
    """The kernel shows neither memory map nor files of the process in its own folder then."""
    with started(tmp_path, "first") as child:
        found = ask(child.pid, lambda found: waiting(1)(found) and "ended" in str(found["threads"]))
        assert not has_ended(child.pid)
    (first,) = (one for one in found["threads"] if one["tid"] == child.pid)
    assert (first["name"], first["state"]) == ("profile_hung", "has ended")
    assert at("the first thread leaves it locked") in first["holds"][0]["place"]
    assert named(found, "later")["blocked_by"] == [child.pid]


@contextmanager
def forked(folder: Path, case: str, **choice: str) -> Iterator[tuple[int, int]]:
    with started(folder, case, **choice) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        yield parent.pid, child
        os.kill(child, 9)


@pytest.mark.parametrize("command", [["timeout", "600"], ["sh", "-c", 'timeout 600 "$@"; true', "sh"]])
def test_a_process_that_only_waits_for_its_child(tmp_path, command):
    env = environment(LOCKSWAP_PROFILE=str(tmp_path), LD_PRELOAD=str(PRELOAD))
    with subprocess.Popen([*command, HUNG, "deadlock"], env=env) as wrapper:
        end = time.monotonic() + PATIENCE_S
        while True:
            done = lockswap("why", wrapper.pid)
            if "a deadlock" in done.stdout or time.monotonic() > end:
                break
        inner = re.match(r"lockswap why: profile_hung \(process (\d+)\): a deadlock\n", done.stdout)
        wrapper.send_signal(signal.SIGSTOP)
        for pid in (*descendants(wrapper.pid), wrapper.pid):
            os.kill(pid, signal.SIGKILL)
    assert inner is not None, done
    assert done.stdout.endswith(
        f"No thread of process {wrapper.pid} ({command[0]}) waits for a lock: it started this one.\n"
    )


def test_a_process_with_several_children_that_are_recorded(tmp_path):
    env = environment(LOCKSWAP_PROFILE=str(tmp_path), LD_PRELOAD=str(PRELOAD))
    command = ["sh", "-c", '"$0" chain & "$0" chain & wait', HUNG]
    with subprocess.Popen(command, env=env) as shell:
        end = time.monotonic() + PATIENCE_S
        while len(pids := descendants(shell.pid)) < 2 or " of " not in (said := lockswap("why", shell.pid).stdout):
            assert time.monotonic() < end
        for pid in (*pids, shell.pid):
            os.kill(pid, signal.SIGKILL)
    which = ", ".join(map(str, pids))
    assert f"It started processes that are recorded, too: `lockswap why PID` says more of {which}.\n" in said


def descendants(pid: int) -> list[int]:
    return [one for child in children(pid) for one in (child, *descendants(child))]


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize(
    ("case", "lock", "mark", "gone"),
    [
        ("fork-mutex", "mutex a", "is held at the fork", "doesn't exist here"),
        ("fork-reader", "rwlock table", "reader holds", "doesn't exist here"),
        ("fork-self", "mutex a", "holds it at the fork", "forked this process, and is thread {child} here"),
    ],
)
def test_a_lock_that_was_held_at_a_fork(tmp_path, case, lock, mark, gone, choice):
    with forked(tmp_path, case, **choice) as (parent, child):
        found = ask(child, waiting(1))
        said = text(child)
    (holder,) = (one for one in found["threads"] if one["process"])
    gone = gone.format(child=child)
    who = f"thread {holder['tid']} of process {parent}"
    assert holder["process"] == parent and at(mark) in holder["holds"][0]["place"]
    assert said.splitlines()[0].endswith(f": 1 thread waits, and {lock} is held by {who}, which {gone}")
    assert re.search(
        rf"^  held (for reading )?by {who} for .* taken at \w+ {at(mark)}, which {gone}$", said, re.MULTILINE
    )


def test_a_lock_that_a_child_released_after_the_fork(tmp_path):
    with forked(tmp_path, "fork-released") as (_, child):
        found = ask(child, waiting(1))
    assert not any(one["process"] for one in found["threads"])
    assert named(found, "wants")["blocked_by"] == [child]


def test_threads_that_go_on_are_in_no_deadlock(tmp_path):
    with started(tmp_path, "busy") as child:
        ask(child.pid, lambda found: len(found["threads"]) >= 2)
        for _ in range(10):
            found = ask(child.pid, lambda _: True)
            assert found["cycles"] == []


def test_a_forked_child_is_asked_by_its_own_number(tmp_path):
    with started(tmp_path, "fork") as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        found = ask(child, lambda found: found["cycles"])
        assert found["pid"] == child and len(found["cycles"][0]) == 2
        # The parent waits for no lock, only for its child, so that is looked at.
        assert ask(parent.pid, lambda _: True)["pid"] == child
        os.kill(child, 9)


def test_under_the_command(tmp_path):
    """The folder of `lockswap profile` is a temporary one; `why` finds it."""
    command = [sys.executable, "-m", "lockswap", "profile", "--", str(HUNG), "chain"]
    run = subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE)
    try:
        end = time.monotonic() + PATIENCE_S
        # The command asks some programs before.
        while not (pids := [pid for pid in children(run.pid) if lockswap("why", pid).returncode == 0]):
            assert time.monotonic() < end
        (pid,) = pids
        ask(pid, waiting(2))
        for command in (["why"], ["top"], ["profile", "--pid"]):
            says = f"process {run.pid} is `lockswap profile`; ask about its program, process {pid}"
            refused(*command, run.pid, says=says)
        os.kill(pid, 9)
    finally:
        for left in children(run.pid):
            os.kill(left, 9)
        run.wait()


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def refused(*words: object, says: str) -> None:
    done = lockswap(*words)
    assert done.returncode == 2 and done.stdout == "", done
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("lockswap: ") and says in done.stderr


@pytest.fixture(params=["why", "top"])
def command(request) -> str:
    return request.param


def test_a_process_that_is_not_there(command):
    ended = subprocess.Popen(["true"])
    ended.wait()
    refused(command, ended.pid, says=f"there is no process {ended.pid}")


def test_a_process_that_has_ended(command):
    zombie = subprocess.Popen(["true"])
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    refused(command, zombie.pid, says="has ended")
    zombie.wait()


def test_a_process_of_another_user(command, tmp_path):
    if os.geteuid() != 0:
        refused(command, 1, says="may not be inspected; ask as that user or as root")
        return
    with started(tmp_path, "chain") as child:
        # The harness may lie where nobody may read: so it is loaded before the user changes.
        program = (
            "import os, sys\n"
            "import lockswap.cli, lockswap.profile.why, lockswap.profile.attach\n"
            "from lockswap.base.errors import UserError\n"
            "os.setgid(65534); os.setuid(65534)\n"
            "try: lockswap.profile.attach.Attached(int(sys.argv[1]))\n"
            "except UserError as error: print(error)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, str(child.pid)],
            capture_output=True,
            text=True,
            env=environment(),
        )
    assert "belongs to root and may not be inspected; ask as that user or as root" in done.stdout, done


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_recording_of_another_user(command, tmp_path):
    with started(tmp_path, "chain") as child:
        ask(child.pid, lambda found: found["threads"])
        (recording,) = tmp_path.glob("*.lockprof")
        os.chown(recording, 65534, 65534)
        refused(command, child.pid, says="which is no longer a file of its user")


def test_a_process_that_root_may_not_look_at_either(monkeypatch):
    def forbidden(*_, **__):
        raise PermissionError

    monkeypatch.setattr("pathlib.Path.read_text", forbidden)
    for user, cure in ((0, "CAP_SYS_PTRACE"), (1, "ask as that user or as root")):
        monkeypatch.setattr("os.geteuid", lambda user=user: user)
        with pytest.raises(UserError, match=f"may not be inspected; .*{cure}"):
            Attached(os.getpid())


def test_a_process_that_is_not_recorded(command):
    with subprocess.Popen(["sleep", "60"], env=environment(LD_PRELOAD=str(PRELOAD))) as child:
        while Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0] != "S":  # it has begun to sleep
            time.sleep(0.01)
        refused(command, child.pid, says="runs with lockswap, but is not recorded; start the program with")
        child.kill()


def test_a_file_that_was_removed(command, tmp_path):
    with started(tmp_path, "chain") as child:
        ask(child.pid, waiting(2))
        for file in tmp_path.iterdir():
            file.unlink()
        refused(command, child.pid, says="was removed")


@pytest.mark.parametrize("words", [(), ("0",), ("me",), ("1", "2")])
def test_bad_words(command, words):
    refused(command, *words, says="")


@pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
def test_where_threads_are_now(tmp_path):
    """The head of the chain waits for no lock: gdb says what it does instead."""
    with started(tmp_path, "chain") as child:
        ask(child.pid, waiting(2))
        done = lockswap("why", child.pid, "--current")
        if done.returncode == 2 and "ptrace" in done.stderr:
            pytest.skip("no right to trace a process")
        data = lockswap("why", child.pid, "--current", "--json")
        assert child.poll() is None  # it goes on
    assert done.returncode == 0 and data.returncode == 0, (done, data)
    found = json.loads(data.stdout)
    assert any("sleep_for_ever" in frame for frame in named(found, "head")["stack_now"])
    for name in ("middle", "tail"):
        assert any("pthread_mutex_lock" in frame for frame in named(found, name)["stack_now"]), found
    _, _, now = done.stdout.partition("    now ")
    assert "sleep_for_ever" in now, done.stdout


def test_current_without_gdb_is_one_line(tmp_path):
    with started(tmp_path, "chain") as child:
        ask(child.pid, waiting(2))
        done = lockswap("why", child.pid, "--current", PATH=str(tmp_path))
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done
    assert "gdb, which is not installed: install it, or omit" in done.stderr
