"""LOCKSWAP_METRICS: what is counted is what happened, in each process by itself, and nowhere else."""

import os
import signal
import stat
import subprocess
from pathlib import Path

import pytest
from subject import COUNTED, HELD_S, MUTEXES, RWLOCKS, SUBJECT, WAITS, by_name, counting, environment, names, run

from lockswap.metrics.folder import is_alive, mapped_by, of_folder
from lockswap.metrics.labels import REST
from lockswap.metrics.record import MOST_SERIES, Counts

LONGEST_UNSEEN = 2048  # acquisitions between two looks of a thread


def glibcs_and(ours: list[str]) -> list:
    """The first and the last one of ours, which are as unlike as any, and the others by night."""
    full = [pytest.param(name, marks=pytest.mark.full) for name in ours[1:-1]]
    return ["", ours[0], ours[-1], *full]


def need_waits(counts: Counts) -> None:
    """Each is found, as long as it was. A slow stage in which a page was touched first may look like a short one."""
    assert sum(counts.waits[7:]) == WAITS, counts  # 1 ms and more
    assert sum(counts.waits[:7]) <= 2, counts
    assert counts.wait_ns / 1e9 > WAITS * HELD_S * 0.99, counts


@pytest.mark.parametrize("mutex", glibcs_and(MUTEXES))
def test_each_wait_for_a_mutex_is_timed(mutex: str, tmp_path: Path) -> None:
    (record,) = run(tmp_path, "mutex", LOCKSWAP_MUTEX=mutex)
    assert record.mutex == (mutex or "pthread")
    need_waits(by_name(record)["waited", "exclusive"])


@pytest.mark.parametrize("rwlock", glibcs_and(RWLOCKS))
def test_each_wait_for_a_reader_writer_lock_is_timed(rwlock: str, tmp_path: Path) -> None:
    (record,) = run(tmp_path, "read", "write", LOCKSWAP_RWLOCK=rwlock)
    found = by_name(record)
    need_waits(found["shared", "shared"])
    need_waits(found["written", "exclusive"])
    assert not any(found["shared", "exclusive"].waits[7:])
    assert not any(found["written", "shared"].waits[7:])


def test_under_a_policy_both_kinds_of_locks_are_counted(tmp_path: Path) -> None:
    """The policy goes by the caller, which the counters must not take the place of."""
    rule = f"module=metrics_subject symbol=waited mutex={MUTEXES[0]}"
    (record,) = run(tmp_path, "mutex", "read", LOCKSWAP_POLICY=rule)
    found = by_name(record)
    need_waits(found["waited", "exclusive"])
    need_waits(found["shared", "shared"])


@pytest.mark.parametrize("mutex", ["", MUTEXES[0]])
def test_acquisitions_add_up(mutex: str, tmp_path: Path) -> None:
    (record,) = run(tmp_path, "count", LOCKSWAP_MUTEX=mutex)
    found = sum(counts.acquisitions for counts in by_name(record).values())
    assert COUNTED - LONGEST_UNSEEN <= found <= COUNTED + 10
    assert by_name(record)["counted", "exclusive"].acquisitions >= COUNTED - LONGEST_UNSEEN
    assert not any(record.series[1].counts["exclusive"].waits)


def test_tries_and_deadlines(tmp_path: Path) -> None:
    (record,) = run(tmp_path, "fail")
    tried = by_name(record)["tried", "exclusive"]
    assert (tried.acquisitions, tried.failed_tries, tried.timeouts) == (1, WAITS, WAITS)


def test_holds_are_timed_where_they_are_asked_for(tmp_path: Path) -> None:
    (record,) = run(tmp_path, "hold", LOCKSWAP_METRICS_HOLDS="1")
    counts = by_name(record)["counted", "exclusive"]
    assert record.counts_holds
    assert sum(counts.holds[8:]) == WAITS
    assert counts.hold_ns / 1e9 > WAITS * HELD_S * 0.9  # nanosleep returns no sooner
    (tmp_path / "without").mkdir()
    (record,) = run(tmp_path / "without", "hold")
    assert not record.counts_holds
    assert not any(by_name(record)["counted", "exclusive"].holds)


def test_locks_that_are_initialised_are_named_by_that_place(tmp_path: Path) -> None:
    (record,) = run(tmp_path, "many")
    (name,) = [name for name in names(record) if name != REST]
    assert name.startswith("many subject.c:")


def test_what_finds_no_series_is_counted_together(tmp_path: Path) -> None:
    (record,) = run(tmp_path, "more")
    found = names(record)
    assert len(record.series) == MOST_SERIES == 201
    assert found[REST] == 1
    counts = by_name(record)
    assert counts[REST, "exclusive"].acquisitions == 300 - 200
    assert sum(one.acquisitions for one in counts.values()) == 300


def test_a_forked_child_counts_in_a_file_of_its_own(tmp_path: Path) -> None:
    parent, child = sorted(run(tmp_path, "count", "fork", "count"), key=lambda one: one.start_time)
    if parent.start_time == child.start_time:
        parent, child = sorted((parent, child), key=lambda one: one.pid)
    assert set(names(parent)) == {"counted", REST}
    assert set(names(child)) == {"of_child", REST}
    assert by_name(child)["of_child", "exclusive"].acquisitions == 1
    both = by_name(parent)["counted", "exclusive"].acquisitions
    assert 2 * COUNTED - 2 * LONGEST_UNSEEN <= both <= 2 * COUNTED + 10


def test_a_child_that_takes_no_lock_has_no_file(tmp_path: Path) -> None:
    assert len(run(tmp_path, "count", "idle")) == 1


def test_a_program_that_is_executed_counts_in_a_file_of_its_own(tmp_path: Path) -> None:
    before, behind = run(tmp_path, "count", "exec")
    assert (before.pid, before.start_time) == (behind.pid, behind.start_time)
    assert (before.path.name, behind.path.name) == tuple(f"{before.pid}.{n}.lockmetrics" for n in (0, 1))
    assert not before.has_ended
    assert "counted" in names(before)
    assert set(names(behind)) == {"of_child", REST}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may change its root")
def test_after_chroot_the_process_goes_on_and_a_child_has_no_file(tmp_path: Path) -> None:
    (record,) = run(tmp_path, "chroot", "count", "fork")
    assert set(names(record)) == {"counted", REST}


def test_the_file_is_the_users_alone_and_its_size_is_fixed(tmp_path: Path) -> None:
    (record,) = run(tmp_path, "many", "more")
    status = record.path.stat()
    assert stat.S_IMODE(status.st_mode) == 0o600
    assert status.st_size < 256 * 1024


def test_a_file_or_link_that_is_there_is_left_alone(tmp_path: Path) -> None:
    """The shell's number is the program's, since it executes it."""
    target = tmp_path / "target"
    script = f'ln -s {target} {tmp_path}/$$.0.lockmetrics; : > {tmp_path}/$$.1.lockmetrics; exec env "$@"'
    variables = [f"{name}={counting(tmp_path)[name]}" for name in ("LD_PRELOAD", "LOCKSWAP_METRICS")]
    subprocess.run(["sh", "-c", script, "sh", *variables, SUBJECT, "count"], env=environment(), check=True)
    assert not target.exists()
    assert sorted(path.name.split(".")[1] for path in tmp_path.iterdir()) == ["0", "1", "2"]


def test_counts_outlive_a_killed_process(tmp_path: Path) -> None:
    with subprocess.Popen([SUBJECT, "count", "pause"], env=counting(tmp_path), stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        (record,) = of_folder(tmp_path).records
        assert is_alive(record, [record]) is True
        process.send_signal(signal.SIGKILL)
        process.wait()
    (record,) = of_folder(tmp_path).records
    assert is_alive(record, [record]) is False
    assert not record.has_ended
    assert by_name(record)["counted", "exclusive"].acquisitions >= COUNTED - LONGEST_UNSEEN


def test_a_process_whose_first_thread_has_ended_is_alive(tmp_path: Path) -> None:
    with subprocess.Popen([SUBJECT, "count", "leave"], env=counting(tmp_path), stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        (record,) = of_folder(tmp_path).records
        assert is_alive(record, [record]) is True
        assert mapped_by(process.pid).samefile(record.path)
        process.kill()


def test_without_the_variable_nothing_is_written(tmp_path: Path) -> None:
    env = environment(LD_PRELOAD=counting(tmp_path)["LD_PRELOAD"], LOCKSWAP_METRICS="", LOCKSWAP_METRICS_HOLDS="1")
    subprocess.run([SUBJECT, "mutex", "fork"], env=env, cwd=tmp_path, check=True)
    assert not any(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_said_and_the_program_runs(tmp_path: Path) -> None:
    done = subprocess.run([SUBJECT, "count", "fork"], env=counting(tmp_path / "no"), capture_output=True, text=True)
    assert done.returncode == 0
    said = f"lockswap: LOCKSWAP_METRICS: nothing is counted: no file can be made in {tmp_path}/no: "
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == 1


def test_a_profile_counts_more(tmp_path: Path) -> None:
    env = counting(tmp_path, LOCKSWAP_PROFILE=str(tmp_path))
    done = subprocess.run([SUBJECT], env=env, capture_output=True, text=True)
    assert done.returncode == 2
    assert "does not go with LOCKSWAP_PROFILE" in done.stderr
