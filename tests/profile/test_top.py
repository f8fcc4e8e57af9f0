"""`lockswap top` and `lockswap profile --pid`: what happens now comes first, and what happened before isn't counted."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from test_profile import environment, lockswap
from test_why import ask, at, started, waiting

from lockswap.profile.look import Look, waited_ns


def table(text: str) -> list[dict]:
    """The locks of the last refresh."""
    block = text.strip().split("\n\n")[-1].splitlines()
    rows: list[dict] = []
    for line in block[2:]:
        if found := re.match(r" +([\d.]+) +([\d,]+) +([\d,]+) +(\S+(?: %)?) +(-|\S+ \S+)  (.*)", line):
            waiting, waits, taken = (float(found[i].replace(",", "")) for i in (1, 2, 3))
            rows.append({"waiting": waiting, "waits": waits, "taken": taken, "lock": found[6], "more": []})
        else:
            rows[-1]["more"].append(line.strip())
    return rows


def all_run(found: dict) -> bool:
    """The threads of `slow`, each of which has its name from the first one."""
    return {one["name"] for one in found["threads"]} >= {"slow", "kept-waiting", "often"}


def test_the_lock_that_hurts_comes_first(tmp_path):
    with started(tmp_path, "slow") as child:
        ask(child.pid, all_run)
        done = lockswap("top", child.pid, "--count", "2", "--interval", "2")
    assert done.returncode == 0 and done.stderr == "", done
    first, second = table(done.stdout)
    # One thread waits, for 20 ms each time or for longer; one of its waits may have begun before the window.
    assert first["lock"] == "mutex a" and 0 < first["waiting"] < 1.5
    assert first["waits"] > 0 and 0.02 * (first["waits"] - 1) - 0.02 <= first["waiting"], done.stdout
    # A line about a wait that goes on may stand before them.
    assert first["more"][-2:] == [
        f"held until slow {at('slow holds until')}",
        f"waited at  kept_waiting {at('is kept waiting')}",
    ]
    # It is taken far more often, but nobody waits for it.
    assert second["lock"] == "mutex c" and second["waiting"] == 0 and second["taken"] > 20 * first["taken"]


def test_a_wait_that_goes_on_counts_each_time(tmp_path):
    with started(tmp_path, "chain") as child:
        ask(child.pid, waiting(2))
        done = lockswap("top", child.pid, "--count", "2")
    rows = {row["lock"]: row for row in table(done.stdout)}
    assert set(rows) == {"mutex a", "mutex b"}
    for row in rows.values():
        assert 0.9 < row["waiting"] < 1.1 and row["waits"] == 0
        assert row["more"][0].startswith("1 thread waits now, the longest for ")
    assert f"2 threads wait now: `lockswap why {child.pid}` says which" in done.stdout


def test_threads_that_wait_for_something_else_than_a_lock(tmp_path):
    with started(tmp_path, "lost") as child:
        ask(child.pid, waiting(1))
        done = lockswap("top", child.pid, "--count", "1", "--interval", "0.1")
    assert "\n1 thread waits now for cond filled, for " in done.stdout, done
    assert "\n1 thread waits now for a thread's exit, joined in run " in done.stdout


def a_look(ages: dict[int, int], over_ns: int) -> tuple[Look, dict]:
    """One thread for each wait, by when it began."""
    tally = {"wait_ns": over_ns}
    lock = {"class": 1, "exclusive": tally, "timed_out_ns": 0}
    waits = [{"class": 1, "since": since, "age_ns": age} for since, age in ages.items()]
    threads = [{"tid": 7 + n, "waits": [wait]} for n, wait in enumerate(waits)]
    return Look(0, Path(), {"locks": [lock], "threads_now": threads}, 0), lock


# How old waits are in two looks 1 s apart, by when they began, and how long waits that were over had taken.
@pytest.mark.parametrize(
    ("before", "ages", "over", "waited"),
    [
        ({5: 2500 * 10**9}, {5: 2490 * 10**9}, (0, 0), 10**9),  # the counter's speed was taken anew
        ({}, {9: 4 * 10**8}, (0, 0), 4 * 10**8),
        ({5: 2 * 10**9}, {}, (0, 25 * 10**8), 5 * 10**8),
        ({5: 2500 * 10**9}, {}, (0, 2490 * 10**9), 0),
        ({}, {}, (3 * 10**9, 35 * 10**8), 5 * 10**8),
    ],
)
def test_how_long_threads_waited_between_two_looks(before, ages, over, waited):
    last, _ = a_look(before, over[0])
    now, lock = a_look(ages, over[1])
    assert waited_ns(last, now, lock, 10**9) == waited


def test_it_ends_with_the_program(tmp_path):
    with started(tmp_path, "slow") as child:
        ask(child.pid, all_run)
        command = [sys.executable, "-m", "lockswap", "top", str(child.pid)]
        shows = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True)
        assert shows.stdout is not None
        shows.stdout.readline()
        child.kill()
        child.wait()
        out, _ = shows.communicate()
    assert shows.returncode == 0 and f"(process {child.pid}) has ended\n" in out


def test_an_interrupt_ends_it(tmp_path):
    with started(tmp_path, "slow") as child:
        ask(child.pid, all_run)
        command = [sys.executable, "-m", "lockswap", "top", str(child.pid)]
        shows = subprocess.Popen(
            command,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A job in the background starts with SIGINT ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        assert shows.stdout is not None
        shows.stdout.readline()
        shows.send_signal(signal.SIGINT)
        _, error = shows.communicate()
    assert shows.returncode == 0 and error == ""


def lock_in(folder: Path, name: str) -> dict:
    locks = json.loads((folder / "profile.json").read_text())["locks"]
    return next(one for one in locks if one["name"] == name)


def test_a_window_has_what_happened_in_it(tmp_path):
    recorded, out = tmp_path / "recorded", tmp_path / "out"
    recorded.mkdir()

    def so_far() -> list[dict]:
        assert lockswap("report", recorded).returncode == 0
        return [lock_in(recorded, name) for name in "ac"]

    with started(recorded, "slow") as child:
        ask(child.pid, lambda found: all_run(found) and all(one["acquisitions"] for one in so_far()))
        before = so_far()
        done = lockswap("profile", "--pid", child.pid, "--seconds", "2", "-o", out)
        after = so_far()
    assert done.returncode == 0, done
    lock = json.loads((out / "profile.json").read_text())["locks"][0]
    assert lock["name"] == "a" and at("slow holds until") in lock["pairs"][0]["holder"]["site"]
    for name, first, last in zip("ac", before, after, strict=True):
        assert 0 < lock_in(out, name)["acquisitions"] <= last["acquisitions"] - first["acquisitions"]
    assert 0 < lock["wait_ns"] <= after[0]["wait_ns"] - before[0]["wait_ns"]
    # Each of these waits takes 20 ms or longer.
    kept = [pair for pair in lock["pairs"] if at("is kept waiting") in pair["waiter"]["site"]]
    assert sum(one["wait_ns"] for one in kept) >= 0.99 * 20_000_000 * sum(one["waits"] for one in kept) > 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("profile", "--pid", "1", "--", "true"), "--pid profiles a running process"),
        (("profile", "--pid", "0"), "'0' is not a process id"),
        (("profile", "--pid", "999999999"), "there is no process"),
        (("top", "999999999"), "there is no process"),
        (("top", "--interval", "0", "1"), "--interval"),
    ],
)
def test_bad_input_is_one_line(words, says):
    done = lockswap(*words)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and says in done.stderr, done
