"""`lockswap report A B` of two profiles: what was made better or worse is named, and by how much."""

import copy
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HOT = ROOT / "build/tests/profile/profile_hot_locks"
sys.path[:0] = [str(ROOT / "harness"), str(ROOT / "tests")]

import command_server  # noqa: E402
from lockswap.profile import diff  # noqa: E402


def lockswap(*words: object) -> subprocess.CompletedProcess:
    env = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
    env |= {"PYTHONPATH": str(ROOT / "harness"), "LOCKSWAP_HOME": str(ROOT)}
    return command_server.run(*words, env=env)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A recorded profile, and the same with holds of the hot lock, and so with waits for it, that took ten times as
    long: on a busy machine short sleeps take as long as longer ones."""
    short = tmp_path_factory.mktemp("diff") / "short"
    done = lockswap("profile", "-o", short, "--", HOT, "sleep")
    assert done.returncode == 0, done
    long = shutil.copytree(short, short.with_name("long"))
    file = long / "profile.json"
    file.write_text(json.dumps(ten_times(json.loads(file.read_text()))))
    return {"short": short, "long": long}


def ten_times(profile: dict) -> dict:
    (hot,) = (one for one in profile["locks"] if one["name"] == "hot")
    hot["wait_ns"] *= 10
    hot["modes"]["exclusive"]["hold_ns_of_timed"] *= 10
    for pair in hot["pairs"]:
        pair["wait_ns"] *= 10
    return profile


def compared(before: Path, after: Path, *more: object) -> dict:
    done = lockswap("report", before, after, "--json", *more)
    assert done.returncode == 0 and not done.stderr, done
    return json.loads(done.stdout)


def test_shorter_holds_are_better(both, tmp_path):
    found = compared(both["long"], both["short"], "-o", tmp_path / "out")
    first = found["locks"][0]
    assert (first["name"], first["verdict"]) == ("hot", "better")
    before, after = first["wait_ns_an_acquisition"]
    assert before > after > 0
    assert first["before"]["mean_hold_ns"] == pytest.approx(10 * first["after"]["mean_hold_ns"])
    pair = first["pairs"][0]
    assert pair["verdict"] == "better"
    assert pair["holder"].startswith("hold_long") and pair["waiter"].startswith("wait_for_it")
    assert json.loads((tmp_path / "out/diff.json").read_text()) == found
    assert "mutex hot" in (tmp_path / "out/diff.html").read_text()


def test_the_other_way_round_they_are_worse(both):
    done = lockswap("report", both["short"], both["long"] / "profile.json")
    assert done.returncode == 0 and " 1. worse: mutex hot" in done.stdout, done
    assert all(len(line) <= 80 for line in done.stdout.splitlines() if str(both["long"].parent) not in line)


def test_a_profile_is_the_same_as_itself(both):
    assert {lock["verdict"] for lock in compared(both["long"], both["long"])["locks"]} <= {"the same", "too few waits"}


def test_raw_recordings_have_a_length_too(both, tmp_path):
    for file in both["short"].glob("*.lockprof"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    found = compared(tmp_path, both["short"])
    before, after = found["locks"][0]["wait_ns_an_acquisition"]
    assert before == after > 0
    # Of the first the beginning and the end of the process are not known, only its calls.
    assert 40 * 3e-3 <= found["before"]["seconds"] <= found["after"]["seconds"]


def lock(wait_ns: int, line: int, acquisitions: int = 1000) -> dict:
    mode = {"timed_holds": 0, "hold_ns_of_timed": 0, "wait_quantiles_ns": None}
    side = {"mode": "exclusive", "site": f"f file.c:{line}"}
    pair = {"waiter": side, "holder": side, "waits": 100, "wait_ns": wait_ns, "most_ns": 9}
    return {
        "kind": "mutex",
        "name": f"make file.c:{line}",
        "acquisitions": acquisitions,
        "contended": 100,
        "wait_ns": wait_ns,
        "modes": {"exclusive": mode},
        "pairs": [pair],
    }


def run(*locks: dict, seconds: float | None = 1.0) -> diff.Run:
    return diff.Run("", [], seconds, list(locks), 0)


def test_a_line_that_moved_is_the_same_place():
    (one,) = diff.compare(run(lock(5000, 10)), run(lock(9000, 12))).locks
    assert one.change.verdict == diff.WORSE and one.change.before and one.change.after
    (pair,) = one.pairs
    assert pair.change.before and pair.change.after


def test_of_two_places_that_moved_none_is_guessed():
    found = diff.compare(run(lock(5000, 10), lock(5000, 20)), run(lock(9000, 12), lock(9000, 22))).locks
    assert sorted((one.change.before is None, one.change.after is None) for one in found) == [
        *[(False, True)] * 2,
        *[(True, False)] * 2,
    ]


def test_more_work_in_the_same_time_is_no_verdict():
    """Twice the acquisitions and half as much more waiting: worse by the second, better by the acquisition."""
    (one,) = diff.compare(run(lock(10_000, 1)), run(lock(15_000, 1, acquisitions=2000))).locks
    assert one.change.verdict == diff.MIXED


def test_a_longer_run_is_not_worse():
    before, after = run(lock(10_000, 1)), run(lock(30_000, 1, acquisitions=3000), seconds=3.0)
    assert diff.compare(before, after).locks[0].change.verdict == diff.SAME


def test_without_lengths_acquisitions_decide():
    (one,) = diff.compare(run(lock(10_000, 1), seconds=None), run(lock(30_000, 1))).locks
    assert one.change.a_second is None and one.change.verdict == diff.WORSE


def test_few_waits_are_no_verdict():
    few = copy.deepcopy(lock(10_000, 1))
    few["contended"] = 3
    assert diff.compare(run(few), run(few | {"wait_ns": 90_000})).locks[0].change.verdict == diff.FEW


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("{profile}", "/nonexistent"), "No such file"),
        (("{profile}", "/proc/self/fd"), "there is no profile"),
        (("{profile}", "/proc/version"), "not JSON"),
        (("{profile}", "{profile}", "{profile}"), "two at a time"),
        (("{profile}", "--json"), "differences of two profiles"),
        (("{profile}", "--silent"), "--silent is for campaigns"),
        (("/nonexistent", "--top", "3"), "--top is for profiles"),
        (("/nonexistent", "/nonexistent"), "/nonexistent"),
    ],
)
def test_bad_input_is_one_line(both, words, says):
    done = lockswap("report", *[word.format(profile=both["short"]) for word in words])
    assert done.returncode == 2, done
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("lockswap: ") and says in done.stderr


def test_another_json_is_no_profile(tmp_path):
    (tmp_path / "profile.json").write_text('{"wall_s": 1}')
    done = lockswap("report", tmp_path, tmp_path)
    assert done.returncode == 2 and "it is not a profile" in done.stderr, done


def test_what_was_recorded_after_the_report_counts(both, tmp_path):
    """A report writes profile.json into the folder; later processes record there, too."""
    folder = tmp_path / "recorded"
    folder.mkdir()
    env = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
    env |= {"LOCKSWAP_PROFILE": str(folder), "LD_PRELOAD": str(ROOT / "build/liblockswap.so")}
    taken = []
    for _ in range(2):
        subprocess.run([HOT, "sleep", "1000"], env=env, check=True)
        found = compared(folder, both["short"])
        taken.append(next(one for one in found["locks"] if one["name"] == "cold")["before"]["acquisitions"])
        assert lockswap("report", folder).returncode == 0
    assert taken == [4000, 8000]
