"""A profile's memory is bounded: what finds no room is left out and counted, the rest is right, and the program goes
on. And what is looked up afterwards: files without symbols, files that have changed, code in no file."""

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
from test_profile import HOT, PATIENCE_S, PROGRAMS, environment, lockswap

FILL = PROGRAMS / "profile_fill"
MOST_BYTES = 64 << 20


def profiled(folder, *command: object, status: int = 0) -> dict:
    done = lockswap("profile", "-o", folder, "--", *command)
    assert done.returncode == status, done
    return json.loads((folder / "profile.json").read_text()) | {"text": " ".join(done.stderr.split())}


@pytest.mark.parametrize(
    ("case", "dropped", "least", "words"),
    [
        # 64 holds are followed.
        ("holds", "holds", 16, "16 holds of threads that hold too many locks"),
        # 8192 stacks.
        ("stacks", "stacks", 1000, "stacks that found no room"),
        # 4096 classes: each variable is one.
        ("classes", "tallies", 5000 - 4096, "calls whose counts found no room"),
        # 131072 objects.
        ("objects", "objects", 150000 - 131072, "calls on locks that found no room"),
        # 4096 pairs.
        pytest.param("pairs", "pairs", 100, "waits that could not be charged", marks=pytest.mark.full),
    ],
)
def test_what_finds_no_room_is_counted(tmp_path, case, dropped, least, words):
    found = profiled(tmp_path / "out", FILL, case)
    assert found["dropped"][dropped] >= least, found["dropped"]
    assert "Left out: " in found["text"] and words in found["text"]
    (file,) = (tmp_path / "out").glob("*.lockprof")
    assert file.stat().st_blocks * 512 <= MOST_BYTES


def test_what_found_room_is_counted_beside_it(tmp_path):
    """Each call is counted, on objects that have a place and on those that have none."""
    found = profiled(tmp_path / "out", FILL, "objects")
    taken = sum(lock["modes"]["exclusive"]["acquisitions"] for lock in found["locks"])
    # A lock that has no place is looked for at its acquisition and at its release.
    assert 0 < 150000 - taken <= found["dropped"]["objects"]


def test_a_file_without_symbols(tmp_path):
    """Its places are what a debugger finds again: the file, and the address in it."""
    stripped = tmp_path / "stripped"
    shutil.copy(HOT, stripped)
    subprocess.run(["strip", "--strip-all", stripped], check=True)
    found = profiled(tmp_path / "out", stripped, "sleep")
    lock = found["locks"][0]
    places = [lock["name"], lock["pairs"][0]["holder"]["site"], lock["pairs"][0]["waiter"]["site"]]
    assert all(re.fullmatch(r"stripped\+0x[0-9a-f]+", place) for place in places), places
    address = places[1].partition("+")[2]
    named = subprocess.run(["addr2line", "-f", "-e", HOT, address], check=True, capture_output=True, text=True)
    assert "hold_long" in named.stdout


def test_a_file_that_has_changed_since(tmp_path):
    program, records = tmp_path / "program", tmp_path / "records"
    shutil.copy(HOT, program)
    records.mkdir()
    variables = {"LD_PRELOAD": str(PROGRAMS.parents[1] / "liblockswap.so"), "LOCKSWAP_PROFILE": str(records)}
    subprocess.run([program, "sleep"], env=environment(**variables), check=True)
    # Another program with another build-id.
    shutil.copy(FILL, program)
    done = lockswap("report", records)
    assert done.returncode == 0, done
    text = " ".join(done.stderr.split())
    assert f"Not the files that ran, so without names: {program}." in text
    assert "hold_long" not in text and re.search(r"holds until program\+0x[0-9a-f]+", text), text


def test_code_that_lies_in_no_file(tmp_path):
    found = profiled(tmp_path / "out", HOT, "made")
    lock = found["locks"][0]
    waiters = {pair["waiter"]["site"] for pair in lock["pairs"]}
    assert any(re.fullmatch(r"\[JIT\] 0x[0-9a-f]+", site) for site in waiters), waiters


def test_code_that_lies_in_no_file_and_has_a_name(tmp_path):
    """The program writes a map for `perf`, as node does with --perf-basic-prof."""
    found = profiled(tmp_path / "out", HOT, "made", "map")
    (recorded,) = (tmp_path / "out").glob("*.lockprof")
    Path(f"/tmp/perf-{recorded.name.partition('.')[0]}.map").unlink()
    waiters = {pair["waiter"]["site"] for pair in found["locks"][0]["pairs"]}
    assert "[JIT] made lock" in waiters, waiters
    assert "[JIT] made lock" in found["text"]


ENDED_BY_TERM = {
    "audit": ["audit"],
    "profile": ["profile"],
    "fuzz": ["fuzz", "--timeout", "6000"],
    "advise": ["advise", "-o", "{tmp}/policy"],
    "whatif": ["whatif"],
    "policy": ["policy", "check", "mutex=pthread"],
    "compare": ["compare", "--mutex", "mcs", "--out", "{tmp}/campaign"],
}


# The others start programs as one of these does.
QUICK = ("profile", "fuzz", "whatif", "compare")


@pytest.mark.parametrize(
    "command", [pytest.param(one, marks=[] if one in QUICK else pytest.mark.full) for one in ENDED_BY_TERM]
)
def test_no_program_stays_behind_a_command_that_is_terminated(command, tmp_path):
    here = tmp_path / "here"
    script = f"echo $$ > {here}.new; mv {here}.new {here}; exec sleep 5000"
    words = [word.format(tmp=tmp_path) for word in ENDED_BY_TERM[command]]
    line = [sys.executable, "-m", "lockswap", *words, "--", "sh", "-c", script]
    run = subprocess.Popen(line, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(here.exists)
    pid = int(here.read_text())
    run.terminate()
    _, said = run.communicate()
    assert run.returncode == (130 if command == "compare" else 128 + signal.SIGTERM), said
    assert "Traceback" not in said
    wait_for(lambda: not Path(f"/proc/{pid}/exe").exists())
    if command == "compare":  # it was in the run that looks at the program
        assert f"'lockswap compare --resume {tmp_path / 'campaign'}' continues" in said
    elif command in ("fuzz", "advise", "whatif"):
        assert said.rstrip().endswith("lockswap: ended by SIGTERM")


# Sends SIGTERM to the command when the program has started, but before Popen returns.
AT_ITS_START = """
import os, signal, subprocess

start = subprocess.Popen.__init__

def start_and_end(self, line, *args, **options):
    start(self, line, *args, **options)
    if "exec sleep 5000" in map(str, line):
        os.kill(os.getpid(), signal.SIGTERM)

subprocess.Popen.__init__ = start_and_end
"""


@pytest.mark.parametrize(
    "command", [pytest.param(one, marks=[] if one in QUICK else pytest.mark.full) for one in ENDED_BY_TERM]
)
def test_no_program_stays_behind_a_command_that_is_terminated_as_it_starts(command, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(AT_ITS_START)
    env = environment(MARK=str(tmp_path))
    env["PYTHONPATH"] = f"{tmp_path}:{env['PYTHONPATH']}"
    words = [word.format(tmp=tmp_path) for word in ENDED_BY_TERM[command]]
    line = [sys.executable, "-m", "lockswap", *words, "--", "sh", "-c", "exec sleep 5000"]
    said = tmp_path / "said"  # no pipe: a program that stays would keep it open
    with said.open("w") as out:
        status = subprocess.run(line, env=env, stdout=out, stderr=out).returncode
    assert status == (130 if command == "compare" else 128 + signal.SIGTERM), said.read_text()
    assert "Traceback" not in said.read_text()
    wait_for(lambda: not any(f"MARK={tmp_path}".encode() in inherited for inherited in environments()))


def environments() -> list[bytes]:
    """Of all processes; one that ends meanwhile is left out."""
    found = []
    for file in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            found.append(file.read_bytes())
    return found


def wait_for(condition) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_program_that_is_asked_to_end(tmp_path):
    """SIGTERM, as servers get it: the report is of all that was before."""
    out = tmp_path / "out"
    command = [sys.executable, "-m", "lockswap", "profile", "-o", out, "--", HOT, "waiting-for-signal"]
    run = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert run.stdout is not None
    pid = int(run.stdout.readline())
    os.kill(pid, signal.SIGTERM)
    _, text = run.communicate()
    assert run.returncode == 128 + signal.SIGTERM, text
    found = json.loads((out / "profile.json").read_text())
    assert found["locks"][0]["name"] == "hot" and found["locks"][0]["wait_ns"] > 20_000_000
    assert "1 process ended without exit, or by exec." in " ".join(text.split())
