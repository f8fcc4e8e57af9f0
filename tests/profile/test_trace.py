"""`trace.json.gz` has waits and holds of threads over time, and queries give what the report says."""

import gzip
import json
import re
import sqlite3
import subprocess
import time
from collections import defaultdict
from pathlib import Path

import pytest
from test_profile import HOT, PATIENCE_S, PRELOAD, READER, environment, lockswap, profile  # noqa: F401
from test_why import ask, started

# By how much the processors' counters may differ; the holds that matter take a ms or more.
SKEW_US = 100
SAMPLES = Path(__file__).parents[1] / "parse/samples"
# As one would ask Perfetto's trace_processor.
HOTTEST = """SELECT counter_track.name, SUM(counter.value) AS ms
    FROM counter JOIN counter_track ON counter.track_id = counter_track.id
    WHERE counter_track.name LIKE '% waited_ms'
    GROUP BY counter_track.name ORDER BY ms DESC LIMIT 10"""
WAITED = """SELECT thread.tid, slice.name, COUNT(*) AS waits, SUM(slice.dur) / 1e6 AS ms
    FROM slice JOIN thread_track ON slice.track_id = thread_track.id JOIN thread USING (utid)
    WHERE slice.category = 'wait'
    GROUP BY thread.tid, slice.name ORDER BY ms DESC LIMIT 10"""


def events_in(folder: Path) -> list[dict]:
    trace = json.loads(gzip.decompress((folder / "trace.json.gz").read_bytes()))
    return trace["traceEvents"]


def recorded(folder: Path) -> dict:
    command = [READER, *folder.glob("*.lockprof")]
    processes = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["processes"]
    return processes[0] if processes else {}


def processed(events: list[dict]) -> sqlite3.Connection:
    """The tables into which trace_processor puts such events, with the columns that the queries need."""
    database = sqlite3.connect(":memory:")
    database.executescript(
        """CREATE TABLE thread (utid INTEGER PRIMARY KEY, tid);
        CREATE TABLE thread_track (id INTEGER PRIMARY KEY, utid);
        CREATE TABLE slice (track_id, category, name, ts, dur);
        CREATE TABLE counter_track (id INTEGER PRIMARY KEY, name UNIQUE);
        CREATE TABLE counter (track_id, ts, value)"""
    )
    threads: dict[tuple, int] = {}
    for one in events:
        ns = one.get("ts", 0) * 1000
        if one["ph"] == "X":
            utid = threads.setdefault((one["pid"], one["tid"]), len(threads))
            database.execute("INSERT OR IGNORE INTO thread VALUES (?, ?)", (utid, one["tid"]))
            database.execute("INSERT OR IGNORE INTO thread_track VALUES (?, ?)", (utid + 1000, utid))
            row = (utid + 1000, one["cat"], one["name"], ns, one["dur"] * 1000)
            database.execute("INSERT INTO slice VALUES (?, ?, ?, ?, ?)", row)
        if one["ph"] == "C":
            for key, value in one["args"].items():
                name = f"{one['name']} {key}"
                database.execute("INSERT OR IGNORE INTO counter_track (name) VALUES (?)", (name,))
                track = database.execute("SELECT id FROM counter_track WHERE name = ?", (name,)).fetchone()
                database.execute("INSERT INTO counter VALUES (?, ?, ?)", (*track, ns, value))
    return database


def test_a_query_gives_the_ten_hottest_locks_of_the_report(profile):  # noqa: F811
    found = profile(HOT, "several")
    hottest = [(f"{lock['kind']} {lock['name']} waited_ms", lock["wait_ns"] / 1e6) for lock in found["locks"][:10]]
    assert len({name for name, _ in hottest}) == 10 and hottest[-1][1] > 0
    rows = processed(events_in(found["folder"])).execute(HOTTEST).fetchall()
    assert [name for name, _ in rows] == [name for name, _ in hottest]
    assert [ms for _, ms in rows] == pytest.approx([ms for _, ms in hottest], abs=0.001)


def test_a_query_gives_who_waited(profile):  # noqa: F811
    found = profile(HOT, "sleep")
    events = events_in(found["folder"])
    waits = [one for one in events if one.get("cat") == "wait" and one["name"] == "wait for mutex hot"]
    pairs = [pair for lock in found["locks"] if lock["name"] == "hot" for pair in lock["pairs"]]
    assert len(waits) == sum(pair["waits"] for pair in pairs)
    # Both ends are cut to us.
    assert sum(one["dur"] for one in waits) == pytest.approx(sum(p["wait_ns"] for p in pairs) / 1e3, abs=len(waits))
    waiter = next(one for one in waits if one["args"]["waits at"].startswith("wait_for_it hot_locks.c"))
    assert waiter["args"]["ended by"].startswith("hold_long hot_locks.c")
    assert waiter["args"]["ended by thread"] not in (waiter["tid"], waiter["pid"])
    rows = processed(events).execute(WAITED).fetchall()
    mine = [one["dur"] for one in waits if one["tid"] == waiter["tid"]]
    said = {(tid, name): (count, ms) for tid, name, count, ms in rows}
    assert said[waiter["tid"], "wait for mutex hot"] == (len(mine), pytest.approx(sum(mine) / 1e3))


@pytest.mark.parametrize("case", ["sleep", "convoy", "several"])
def test_one_thread_holds_a_mutex_at_a_time_and_the_others_wait(profile, case):  # noqa: F811
    events = events_in(profile(HOT, case)["folder"])
    begun = {one["id"]: one for one in events if one["ph"] == "b"}
    ended = {one["id"]: one for one in events if one["ph"] == "e"}
    assert begun and begun.keys() == ended.keys()
    by_lock = defaultdict(list)
    for number, one in begun.items():
        assert one["name"].startswith("hold mutex ") and one["args"]["kept waiting"] >= 1
        by_lock[one["name"]].append((one["ts"], ended[number]["ts"], one["tid"]))
    waits = [one for one in events if one.get("cat") == "wait"]
    for name, holds in by_lock.items():
        holds.sort()
        for (begin, end, _), (after, _, _) in zip(holds, [*holds[1:], (float("inf"),) * 3], strict=True):
            assert begin <= end <= after + SKEW_US, holds
        for begin, end, tid in holds:
            kept = [one for one in waits if one["name"] == name.replace("hold", "wait for") and one["tid"] != tid]
            assert any(one["ts"] <= end + SKEW_US and begin <= one["ts"] + one["dur"] + SKEW_US for one in kept)


@pytest.mark.parametrize("case", ["sleep", "signal", "chain", "semaphores"])
def test_slices_of_a_thread_nest(profile, case):  # noqa: F811
    """As trace_processor wants them: it drops others."""
    slices = defaultdict(list)
    for one in events_in(profile(HOT, case)["folder"]):
        if one["ph"] == "X":
            slices[one["pid"], one["tid"]].append((one["ts"], one["ts"] + one["dur"]))
    assert slices
    for mine in slices.values():
        assert mine == sorted(mine, key=lambda one: (one[0], -one[1]))
        around: list[int] = []
        for begin, end in mine:
            while around and around[-1] <= begin:
                around.pop()
            assert not around or end <= around[-1], mine
            around.append(end)


def test_the_last_waits_are_kept(profile):  # noqa: F811
    found = profile(HOT, "crowd")
    process = recorded(found["folder"])
    most = 64 * 1024
    assert process["waits_charged"] > most
    ends = [wait[1] for wait in process["waits_kept"]]
    assert len(ends) == most
    # Two threads may take their numbers in another order than their waits ended, by far less than the whole took.
    assert process["last_ns"] - process["started_ns"] - max(ends) < 0.5 * max(ends)
    assert min(ends) > 0.05 * max(ends)
    assert any(one.get("cat") == "wait" for one in events_in(found["folder"]))


def test_a_wait_that_did_not_end_is_there(tmp_path):
    with started(tmp_path, "deadlock") as child:
        ask(child.pid, lambda found: found["cycles"])
        assert lockswap("report", tmp_path).returncode == 0
    waits = [one for one in events_in(tmp_path) if one.get("cat") == "unfinished wait"]
    assert {one["name"] for one in waits if one["args"]["deadlock"]} == {"wait for mutex a", "wait for mutex b"}
    assert all(one["dur"] > 0 and one["tid"] for one in waits)


def test_a_window_has_the_waits_that_ended_in_it(tmp_path):
    env = environment(LOCKSWAP_PROFILE=str(tmp_path), LD_PRELOAD=str(PRELOAD))
    program = subprocess.Popen([HOT, "sleep", "1000", "1000000"], env=env)
    try:
        end = time.monotonic() + PATIENCE_S
        while not (folder := [*tmp_path.glob("*.lockprof")]) or not recorded(tmp_path).get("waits_charged"):
            assert time.monotonic() < end, folder
        before_ns = time.monotonic_ns()
        out = tmp_path / "out"
        assert lockswap("profile", "--pid", program.pid, "--seconds", "2", "-o", out).returncode == 0
        began_ns = recorded(tmp_path)["started_ns"]
    finally:
        program.kill()
        program.wait()
    waits = [one for one in events_in(out) if one.get("cat") == "wait"]
    assert waits
    assert all(began_ns + (one["ts"] + one["dur"] + SKEW_US) * 1000 >= before_ns for one in waits)


def test_folded_stacks_are_what_speedscope_takes(profile):  # noqa: F811
    """Its importer takes a file all of whose lines end with a blank and a whole number; frames are split at ';'."""
    text = (profile(HOT, "sleep")["folder"] / "waiting.folded").read_text()
    assert text.endswith("\n") and len(text.split("\n")) == len(re.split(r" \d+\r?\n", text)) > 1
    for line in text.splitlines():
        frames = re.fullmatch(r"(.*) (\d+)", line)[1].split(";")
        assert all(frames) and sum(one.startswith("[") for one in frames) == 1


def test_a_recording_of_the_version_before(tmp_path):
    """It has no single waits; all else is there."""
    sample = SAMPLES / "profile-8.gz"
    (tmp_path / "1.0.lockprof").write_bytes(gzip.decompress(sample.read_bytes()))
    done = lockswap("report", tmp_path)
    assert done.returncode == 0, done
    hottest = json.loads((tmp_path / "profile.json").read_text())["locks"][0]
    assert hottest["contended"] > 0 and hottest["wait_ns"] > 50_000_000
    events = events_in(tmp_path)
    assert {"C"} < {one["ph"] for one in events} and not any(one.get("cat") in ("wait", "hold") for one in events)
