"""What `predict --replay` makes of the model's answers, with a stand-in for it; tests/calls has the model itself."""

import json
import stat
import sys
from pathlib import Path

import pytest

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.predict import replay
from lockswap.predict.replay import Request

ROOT = Path(__file__).resolve().parents[2]
RECORDED = {
    "program": "prog", "pid": 7, "threads": 4, "mutexes": 2, "rwlocks": 0, "locks": 60_000, "reads": 0, "writes": 0,
    "waits": 0, "failed": 0, "left_out": 0, "preempted_ns": 0, "in_calls_ns": 0, "begin_ns": 0, "end_ns": 10**9,
    "cpu_ns": 10**9, "pair_ns_256": 25_600, "chunk_ns": 0, "most_bytes": 1 << 26, "full": False,
}  # fmt: skip
PART = {
    "threads": 4, "mutexes": 2, "rwlocks": 0, "locks": 5000, "reads": 0, "writes": 0, "signals": 0, "timed": 0,
    "work_ns": 1e6, "rest_ns": 0, "preempted_ns": 0, "recorded_ns": 1e6,
}  # fmt: skip
# Answers as the model does. Each replay takes as long as TIMES says of its mutex, times what the draw's pace is.
MODEL = """
import json, sys
part, times, hangs = json.loads({settings!r})
pace = 1
for line in sys.stdin:
    word, *rest = line.split()
    if word == "list":
        print("mutex slow\\nmutex fast\\nmutex alike\\nrwlock other")
    elif word == "describe":
        print(json.dumps(part))
    elif word == "pace":
        pace = float(rest[0])
    elif word == "replay":
        outcome = dict(acquisitions=5000, ns=1e6 * times[rest[1]] * pace, in_calls_ns=1e5, thread_ns=1e6)
        outcome |= dict(finished=rest[1] != hangs, node=10, remote=0, memory=0, sleeps=0)
        print(json.dumps(outcome))
"""
TIMES = {"pthread": 2.0, "slow": 4.0, "fast": 1.0, "alike": 2.1}


@pytest.fixture
def ask(tmp_path, capsys):
    """Returns what is printed, of --json or as text."""

    def asked(mutexes=("slow", "fast", "alike"), rwlocks=(), as_json=True, part=PART, hangs="", **recorded):
        def prints(name: str, text: str) -> None:
            program = tmp_path / "bin" / name
            program.parent.mkdir(exist_ok=True)
            program.write_text(f"#!{sys.executable}\n{text}")
            program.chmod(stat.S_IRWXU)

        prints("lockswap-model", MODEL.format(settings=json.dumps([part, TIMES, hangs])))
        prints("lockswap-calls-read", f"print({json.dumps({'processes': [RECORDED | recorded]})!r})")
        file = tmp_path / "7.0.lockcalls"
        file.touch()
        paths = Paths(ROOT, tmp_path)
        replay.run(paths, Request(file, "x5-2", tuple(rwlocks), tuple(mutexes), 24, 5000, as_json))
        said = capsys.readouterr().out
        return json.loads(said) if as_json else said

    return asked


def test_claims_are_against_glibcs_locks_and_between_the_others(ask):
    found = ask()
    assert found["modelled"] is True
    assert [choice["choice"] for choice in found["choices"]] == ["pthread", "mutex:slow", "mutex:fast", "mutex:alike"]
    assert [choice["against_glibc"]["middle"] for choice in found["choices"]] == pytest.approx([1, 0.5, 2, 2 / 2.1])
    claims = {(claim["faster"], claim["slower"]): claim["ratio"] for claim in found["claims"]}
    assert set(claims) == {
        ("pthread", "mutex:slow"), ("mutex:fast", "pthread"), ("mutex:fast", "mutex:slow"),
        ("mutex:fast", "mutex:alike"), ("mutex:alike", "mutex:slow"),
    }  # fmt: skip
    assert claims["mutex:fast", "mutex:slow"] == pytest.approx(4)


def test_draws_take_the_parts_in_turn(ask):
    assert len(ask()["parts"]) == 12  # of 5,000 acquisitions in 60,000
    assert len(ask(locks=4000)["parts"]) == 1
    assert len(ask(locks=10**6)["parts"]) == replay.MOST_WINDOWS


def test_nothing_is_claimed_of_a_lock_under_which_threads_hang(ask):
    found = ask(hangs="fast")
    assert all("mutex:fast" not in (claim["faster"], claim["slower"]) for claim in found["claims"])
    (line,) = [line for line in found["caveats"] if line.startswith("mutex:fast: ")]
    assert "in 24 of 24 draws: threads wait for each other for ever" in line


def test_the_text_is_marked_as_modelled(ask):
    said = ask(as_json=False, full=True, failed=3)
    assert said.startswith("Modelled, not measured: prog with 4 threads at once, replayed")
    assert "mutex:fast is faster than pthread: 2.0 times" in said
    assert "3 attempts to acquire a lock failed" in said.replace("\n", " ")
    assert "The record was full after 1.00 s" in said


def test_locks_of_a_kind_that_the_program_does_not_have(ask):
    with pytest.raises(UserError, match="the program acquired no reader-writer lock, so --rwlock changes nothing"):
        ask(rwlocks=("other",))


def test_a_lock_that_there_is_not(ask):
    with pytest.raises(UserError, match="no mutex 'slwo', did you mean 'slow'"):
        ask(mutexes=("slwo",))


def test_no_lock(ask):
    with pytest.raises(UserError, match="name locks to replay with"):
        ask(mutexes=())


def test_more_threads_than_the_machine_has(ask):
    with pytest.raises(UserError, match="73 threads ran at once, but x5-2 has only 72 hardware threads"):
        ask(part=PART | {"threads": 73})


def test_a_record_without_locks(ask):
    with pytest.raises(UserError, match="has no acquisition of a lock"):
        ask(locks=0)
