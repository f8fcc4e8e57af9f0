"""More threads than processors: what the model is asked, and what the command says of it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from lockswap.cli import cli
from lockswap.predict import machines, model, places, scheduling, workloads
from lockswap.predict.bands import Subject
from lockswap.predict.draws import FITTED

ROOT = Path(__file__).resolve().parents[2]
MACHINE = machines.find(ROOT / "predict/machines", "gold-6242")
RWBENCH = workloads.find(ROOT / "predict/workloads.toml", "rwbench")
MANY = MACHINE.processors + 1

# In place of the model: a lock whose name is the shorter one is faster.
STAND_IN = """#!/usr/bin/python3
import json, sys
text = sys.stdin.read()
with open("{seen}", "a") as seen:
    seen.write(text)
if text.startswith("list"):
    print("rwlock ba\\nmutex mcs")
for line in text.splitlines():
    if line.startswith("run "):
        name, threads = line.split()[1], int(line.split()[4])
        moved = {{"node": 0, "remote": 0, "memory": 0}}
        print(json.dumps({{"reads": 1000 * threads // len(name), "writes": 0, "ns": 1, **moved}}))
"""


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """The file with what the model was asked."""
    program, seen = tmp_path / "model", tmp_path / "seen"
    program.write_text(STAND_IN.format(seen=seen))
    program.chmod(0o755)
    monkeypatch.setattr(places, "program", lambda paths: program)
    return program, seen


def test_threads_that_share_processors_sleep_and_others_poll(asked):
    program, seen = asked
    question = model.Question(MACHINE, RWBENCH, 0.1, (Subject("ba", "rwlock"),), (MANY, 2), 2, 1e6)
    assert [(run.threads, run.draws[0]["reads"]) for run in model.run(program, question)] == [
        (MANY, 500 * MANY),
        (2, 1000),
    ]
    lines = seen.read_text().splitlines()
    assert lines.count("run ba rwlock poll 2 1000000") == 2
    sleeping = [line for line in lines if line.startswith(f"run ba rwlock sleep {MANY} ")]
    assert len(sleeping) == 2
    # Each thread has several time slices.
    assert float(sleeping[0].split()[5]) == scheduling.long_enough_ns(MACHINE, MANY) >= 2 * 10 * 1e6
    # What the scheduler takes is said before the runs that need it, and after the others.
    assert lines.index("run ba rwlock poll 2 1000000") < next(n for n, line in enumerate(lines) if "cost slice" in line)


def test_what_the_scheduler_takes_is_drawn_from_the_machine_s_file():
    found = [dict(line.split()[1:] for line in scheduling.sharing(MACHINE, n).splitlines()) for n in range(20)]
    assert {one["preempts"] for one in found} == {"0", "0.5", "1"}
    assert all(1e6 <= float(one["slice"]) <= 4e6 for one in found)
    measured = machines.find(
        ROOT / "predict/machines", str(ROOT / "results/predictions/2026-11-29-sharing-machine.toml")
    )
    for number in range(20):
        costs = dict(line.split()[1:] for line in scheduling.sharing(measured, number).splitlines())
        for name, (low, high) in measured.intervals.items():
            assert low - 1 <= float(costs[name]) <= high + 1


@pytest.mark.parametrize("as_json", [False, True])
def test_rates_are_said_only_where_each_thread_has_a_processor(asked, as_json):
    words = ["predict", "--machine", "gold-6242", "-l", "ba", "-m", "mcs", "--threads", f"2,{MANY}", "--draws", "3"]
    done = CliRunner().invoke(cli, [*words, *(["--json"] if as_json else [])], catch_exceptions=False)
    assert done.exit_code == 0
    if as_json:
        found = json.loads(done.output)
        assert {point["threads"] for point in found["points"]} == {2}
        assert {claim["threads"] for claim in found["claims"]} == {2, MANY}
        assert found["fitted"] == FITTED
    else:
        assert "Fitted constants: an atomic update takes 4.2 ns more" in " ".join(done.output.split())
        assert f"With more than {MACHINE.processors} threads, only the order of locks is predicted." in done.output
        assert f"ba is faster than mcs with 2 and {MANY} threads" in " ".join(done.output.split())


def test_glibc_s_locks_are_known_only_where_threads_sleep(asked):
    words = ["predict", "--machine", "gold-6242", "-l", "pthread,ba", "--draws", "3", "--threads"]
    assert CliRunner().invoke(cli, [*words, str(MANY)]).exit_code == 0
    assert "'pthread' (glibc's lock) is modelled only with more threads" in str(
        CliRunner().invoke(cli, [*words, f"2,{MANY}"]).exception
    )


@pytest.mark.parametrize("as_json", [False, True])
def test_a_bend_is_said(asked, as_json):
    """The stand-in's locks do as much more as there are more threads; here all do the same with any number."""
    program, _ = asked
    program.write_text(program.read_text().replace("1000 * threads", "1000"))
    words = ["predict", "--machine", "gold-6242", "-l", "ba", "--threads", f"2,4,8,{MANY}", "--draws", "3"]
    done = CliRunner().invoke(cli, [*words, *(["--json"] if as_json else [])], catch_exceptions=False)
    if as_json:
        assert json.loads(done.output)["bends"] == [{"lock": "ba", "kind": "rwlock", "after": 2, "by": 4}]
    else:
        assert "bends at" in done.output and "2 to 4" in done.output


def test_a_lock_that_scales_has_no_bend(asked):
    words = ["predict", "--machine", "gold-6242", "-l", "ba", "--threads", "2,4,8", "--draws", "3"]
    assert "bends" not in CliRunner().invoke(cli, words, catch_exceptions=False).output
