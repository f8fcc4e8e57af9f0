"""`lockswap profile` of a program that hangs: a wait that has not ended is a wait, too."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_profile import PATIENCE_S, environment, lockswap
from test_why import HUNG, ask, at, children, started, waiting


def report_of(folder: Path) -> tuple[str, dict]:
    return _said_and_written(folder, "report", folder)


def profile_of(folder: Path, *words: object) -> tuple[str, dict]:
    return _said_and_written(folder, "profile", "-o", folder, *words)


def _said_and_written(folder: Path, *words: object) -> tuple[str, dict]:
    done = lockswap(*words)
    assert done.returncode == 0, done
    return done.stderr, json.loads((folder / "profile.json").read_text())


def locks_waited_for(data: dict) -> dict[str, dict]:
    return {one["lock"]: one for one in data["unfinished"] if one["kind"] == "mutex"}


def says_the_deadlock(said: str, data: dict) -> None:
    said = " ".join(said.split())
    assert "No thread has waited for a lock" not in said
    assert said.index("A deadlock of 2 threads of process") < said.index("No wait for a lock has ended")
    assert "still waited for a lock" not in said
    waits = locks_waited_for(data)
    assert set(waits) == {"a", "b"}
    for name in waits:
        assert at(f"waits for {name}") in waits[name]["site"]
        assert f"mutex {name}, at first_{'a' if name == 'b' else 'b'} {at(f'waits for {name}')}" in said
    assert len(data["unfinished"]) == 3  # the third one is the join
    assert sorted(len(one["deadlock"]) for one in data["unfinished"]) == [0, 2, 2]


def test_a_command_that_a_signal_ended(tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "lockswap", "profile", "-o", out, "--", HUNG, "deadlock"]
    begin = time.monotonic()
    run = subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True)
    while not (pids := [pid for pid in children(run.pid) if lockswap("why", pid).returncode == 0]):
        assert time.monotonic() < begin + PATIENCE_S
    ask(pids[0], lambda found: found["cycles"])
    time.sleep(1)
    run.send_signal(signal.SIGTERM)
    _, said = run.communicate()
    took = time.monotonic() - begin
    data = json.loads((out / "profile.json").read_text())
    says_the_deadlock(said, data)
    for wait in locks_waited_for(data).values():
        assert 1e9 <= wait["age_ns"] < took * 1e9


def test_a_recording_that_the_process_left(tmp_path):
    """When it was killed nobody knows, so only the beginning of the wait is said."""
    with started(tmp_path, "deadlock") as child:
        ask(child.pid, lambda found: found["cycles"])
        alive, data = report_of(tmp_path)
        says_the_deadlock(alive, data)
        assert "`lockswap why PID`" in alive
        assert all(wait["age_ns"] > 0 for wait in data["unfinished"])
        assert "ended without exit" not in alive
    dead, data = report_of(tmp_path)
    says_the_deadlock(dead, data)
    assert "lockswap why" not in dead  # whom should it ask?
    assert all(wait["age_ns"] is None and wait["after_start_ns"] > 0 for wait in data["unfinished"])
    assert f"after the start of process {child.pid}" in " ".join(dead.split())
    assert "1 process ended without exit" in " ".join(dead.split())


def test_a_program_in_the_background_that_starts_slowly(tmp_path):
    """The shell has ended before the program takes its first lock."""
    shell = f"sh -c 'n=0; while [ $n -lt 200000 ]; do n=$((n+1)); done; exec {HUNG.parent}/profile_hot_locks sleep' &"
    _, data = profile_of(tmp_path / "out", "--", "sh", "-c", shell)
    assert any(lock["name"] == "hot" for lock in data["locks"])


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_program_in_the_background(interrupted):
    command = [
        sys.executable,
        "-m",
        "lockswap",
        "profile",
        "--",
        "sh",
        "-c",
        f"{HUNG} deadlock >/dev/null 2>&1 & echo $!",
    ]
    run = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    pid = int(run.stdout.readline())
    try:
        end = time.monotonic() + PATIENCE_S
        while lockswap("why", pid).returncode != 0:  # it has not begun
            assert time.monotonic() < end
        ask(pid, lambda found: found["cycles"])
        says = f"lockswap profile: sh has ended and left 1 process ({pid}) behind"
        assert run.stderr.readline().startswith(says)
        # Not by SIGINT, which is ignored where the tests run in the background.
        os.kill(*((run.pid, signal.SIGTERM) if interrupted else (pid, signal.SIGKILL)))
        _, said = run.communicate()
        assert run.returncode == 0 and f"A deadlock of 2 threads of process {pid}" in " ".join(said.split())
        kept = re.search(r"goes on, and records in (\S+):", said)
        assert bool(kept) == interrupted
        if kept:
            assert f"A deadlock of 2 threads of process {pid}" in " ".join(report_of(Path(kept[1]))[0].split())
            shutil.rmtree(kept[1])
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize(("case", "threads"), [("deadlock", 2), ("chain", 2), ("reader", 1)])
def test_a_window(tmp_path, case, threads):
    out = tmp_path / "out"
    with started(tmp_path, case) as child:
        ask(child.pid, waiting(threads))
        said, data = profile_of(out, "--pid", child.pid, "--seconds", 1)
    said = " ".join(said.split())
    count = f"{threads} thread{'s' if threads > 1 else ''}"
    first = f"A deadlock of {count}" if case == "deadlock" else f"{count} still waited for a lock at the end"
    assert first in said and "`lockswap why PID` says who keeps them waiting" in said
    assert "ended without exit" not in said
    assert all(wait["age_ns"] > 1e9 for wait in data["unfinished"])


def test_a_program_that_goes_on_to_its_end(tmp_path):
    out = tmp_path / "out"
    said, data = profile_of(out, "--", HUNG.parent / "profile_hot_locks", "sleep")
    assert data["unfinished"] == [] and "still waited" not in said
