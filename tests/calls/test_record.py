"""LOCKSWAP_RECORD and `lockswap record`: what is recorded is what happened, in bounds, for each process by itself."""

import shutil
import stat
import subprocess

import pytest

from recording import (
    EDGES,
    LATE_MS,
    LIBRARY,
    PAIR,
    ROUNDS,
    SLEEP_MS,
    SUBJECT,
    THREADS,
    TURNS,
    environment,
    lockswap,
    read,
    record,
)


def acquired(process: dict) -> dict:
    return {name: process[name] for name in ("locks", "reads", "writes", "unlocks") if process[name]}


def test_each_acquisition_and_release_is_there(tmp_path):
    (one,) = record(tmp_path, "pairs")
    assert acquired(one) == {"locks": 2 * (ROUNDS + EDGES), "unlocks": 2 * (ROUNDS + EDGES)}
    assert (one["threads"], one["mutexes"], one["rwlocks"]) == (2, 3, 0)
    assert one["ended"] and not one["full"] and not one["left_out"] and not one["failed"]
    assert 0 < one["pair_ns_256"] / 256 < 5000
    assert one["cpu_ns"] >= 2 * ROUNDS * 7000  # of the work


def test_the_modes_of_a_reader_writer_lock(tmp_path):
    (one,) = record(tmp_path, "reads")
    assert (one["reads"], one["writes"]) == (2 * ROUNDS - ROUNDS // 10, ROUNDS // 10)
    assert one["unlocks"] == 2 * (ROUNDS + EDGES)
    assert (one["mutexes"], one["rwlocks"]) == (1, 1)


def test_a_wait_for_a_condition_releases_the_mutex_and_acquires_it_again(tmp_path):
    (one,) = record(tmp_path, "turns")
    assert one["signals"] == 2 * TURNS
    assert one["waits"] > 0
    each = 2 * (TURNS + EDGES) + one["waits"]
    assert acquired(one) == {"locks": each, "unlocks": each}


def test_nothing_stands_before_the_first_call_of_a_thread(tmp_path):
    # As if the thread lost its processor whenever it looks at how often it has slept.
    delayed = ["strace", "-f", "-o", "/dev/null", "-e", "inject=getrusage:delay_exit=3000"]
    if shutil.which("strace") is None or subprocess.run([*delayed, "true"], capture_output=True).returncode != 0:
        pytest.skip("strace isn't installed, or can't trace here")
    variables = ["-E", f"LD_PRELOAD={LIBRARY}", "-E", f"LOCKSWAP_RECORD={tmp_path}"]
    subprocess.run([*delayed, *variables, SUBJECT, "one"], env=environment(), check=True)
    (one,) = read(*tmp_path.iterdir())
    assert (acquired(one), one["slept_ns"], one["preempted_ns"]) == (PAIR, 0, 0)


def test_time_off_the_processor_is_no_work(tmp_path):
    for word, slept in (("sleeps", 5 * SLEEP_MS * 1e6), ("busy", 0)):
        folder = tmp_path / word
        folder.mkdir()
        (one,) = record(folder, word)
        # A busy machine makes a sleep longer, and takes the processor from the thread that works.
        assert one["slept_ns"] >= 0.99 * slept
        if not slept:
            off = one["preempted_ns"] + one["slept_ns"] + one["in_calls_ns"]
            work = one["end_ns"] - one["begin_ns"] - off
            assert work == pytest.approx(5 * SLEEP_MS * 1e6, rel=0.2)


def test_tries_that_fail_are_counted(tmp_path):
    (one,) = record(tmp_path, "fails")
    assert (acquired(one), one["failed"]) == (PAIR, 7)


def test_the_memory_of_a_lock_may_become_another_one(tmp_path):
    (one,) = record(tmp_path, "reused")
    assert (one["locks"], one["mutexes"]) == (3, 3)


def test_a_child_has_a_file_of_its_own(tmp_path):
    processes = sorted(record(tmp_path, "forks"), key=lambda one: one["locks"])
    assert [one["locks"] for one in processes] == [2, 3]
    assert processes[1]["parent"] == processes[0]["pid"]
    assert processes[1]["pair_ns_256"] == processes[0]["pair_ns_256"]


def test_so_has_a_program_that_is_started_in_its_place(tmp_path):
    processes = record(tmp_path, "execs")
    assert sorted((one["locks"], one["ended"]) for one in processes) == [(1, True), (2, False)]
    assert len({one["pid"] for one in processes}) == 1


def test_what_a_killed_process_did_is_there(tmp_path):
    (one,) = record(tmp_path, "killed", status=-9)
    assert acquired(one) == {"locks": ROUNDS, "unlocks": ROUNDS}
    assert not one["ended"] and one["cpu_ns"] == 0


def test_a_full_file_ends_the_recording(tmp_path):
    (one,) = record(tmp_path, "many", LOCKSWAP_RECORD_MB="1")
    assert one["full"] and one["ended"]
    (file,) = tmp_path.iterdir()
    assert file.stat().st_size <= 1 << 20
    assert file.stat().st_size / 32 * 0.85 < one["locks"] < file.stat().st_size / 32


def test_recording_may_begin_later(tmp_path):
    # The process begins before the program does, which takes the mutex at once, and again after that time.
    (one,) = record(tmp_path, "late", LOCKSWAP_RECORD_AFTER_MS=str(LATE_MS))
    assert acquired(one) == PAIR
    assert one["begin_ns"] >= 0.99 * LATE_MS * 1e6


def test_nobody_else_may_read_it(tmp_path):
    record(tmp_path, "one")
    (file,) = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("other", ["LOCKSWAP_PROFILE", "LOCKSWAP_METRICS", "LOCKSWAP_DELAY", "LOCKSWAP_POLICY"])
def test_what_it_cannot_be_combined_with(tmp_path, other):
    env = environment(LD_PRELOAD=str(LIBRARY), LOCKSWAP_RECORD=str(tmp_path))
    value = {"LOCKSWAP_POLICY": "keep", "LOCKSWAP_DELAY": "module=*:+1us"}.get(other, str(tmp_path))
    done = subprocess.run([SUBJECT, "one"], env=env | {other: value}, capture_output=True, text=True)
    assert done.returncode == 2
    assert "unset one of the two" in done.stderr or other == "LOCKSWAP_POLICY", done.stderr


def test_the_command_records_and_says_what_it_cost(tmp_path):
    done = lockswap("record", "--out", "trace", "--", SUBJECT, "pairs", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (file,) = (tmp_path / "trace").iterdir()
    (one,) = read(file)
    assert one["locks"] == 2 * (ROUNDS + EDGES)
    first, cost, then = done.stderr.splitlines()
    assert first.startswith(f"trace/{file.name}: calls_subject, 2 threads, 3 mutexes, 2.00k acquisitions in ")
    assert cost.startswith("  Recording added about ") and cost.endswith(" % of the processor time.")
    assert then == "Replay it: lockswap predict --replay trace --machine x5-2 --mutex MUTEXES"


def test_the_command_says_what_was_cut_off(tmp_path):
    done = lockswap("record", "--size", "1", "--out", tmp_path / "trace", "--", SUBJECT, "many")
    assert "The file was full (1 MB), so the rest of the run isn't in it" in done.stderr


def test_a_program_without_locks(tmp_path):
    done = lockswap("record", "--out", tmp_path / "trace", "--", SUBJECT)
    assert done.returncode == 0
    assert done.stderr == (
        f"lockswap record: {SUBJECT} acquired no lock that lockswap sees, so there is nothing to replay; "
        f"'lockswap audit -- {SUBJECT}' shows which locks it takes\n"
    )
    replayed = lockswap("predict", "--replay", tmp_path / "trace", "--machine", "x5-2", "--mutex", "mcs")
    assert replayed.returncode == 2
    assert replayed.stderr.count("\n") == 1 and "so there is nothing to replay" in replayed.stderr


def test_the_status_is_the_programs(tmp_path):
    done = lockswap("record", "--out", tmp_path / "trace", "--", SUBJECT, "killed")
    assert done.returncode == 128 + 9
    assert f"{ROUNDS / 1000:.2f}k acquisitions" in done.stderr


def test_a_folder_that_is_in_use_is_left_alone(tmp_path):
    (tmp_path / "trace").mkdir()
    (tmp_path / "trace/mine").write_text("")
    done = lockswap("record", "--out", tmp_path / "trace", "--", SUBJECT, "one")
    assert done.returncode == 2
    assert "exists already: remove it, or name another folder with --out" in done.stderr
    assert [file.name for file in (tmp_path / "trace").iterdir()] == ["mine"]


def test_many_threads(tmp_path):
    (one,) = record(tmp_path, "serial")
    each = THREADS * (ROUNDS + EDGES)
    assert (one["threads"], acquired(one)) == (THREADS, {"locks": each, "unlocks": each})
