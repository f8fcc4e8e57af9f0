"""`lockswap predict --replay`: the model makes the recorded calls, and says what follows from them."""

import json
from pathlib import Path

import pytest

from recording import EDGES, MODEL, ROUNDS, THREADS, TURNS, lockswap, record

SMALL = """
title = "a machine of {cores} cores, for tests"
sources = ["made up"]
nodes = 1
cores = {cores}
threads = 1
own_core_ns = 10
node_ns = 50
remote_ns = 100
"""


@pytest.fixture
def recorded(tmp_path):
    def of(word: str) -> Path:
        folder = tmp_path / word
        folder.mkdir()
        record(folder, word)
        return folder

    return of


def machine(folder: Path, cores: int) -> Path:
    file = folder / f"cores-{cores}.toml"
    file.write_text(SMALL.format(cores=cores))
    return file


def replayed(record: Path, cores: int, *words: str) -> dict:
    if not MODEL.exists():
        pytest.skip("lockswap-model isn't built: ninja -C build lockswap-model")
    done = lockswap(
        "predict", "--replay", record, "--machine", machine(record.parent, cores), "--draws", "4", "--json", *words
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def rates(found: dict) -> list[float]:
    return [choice["middle"] for choice in found["choices"]]


def without_waits(part: dict) -> tuple[float, float]:
    """Acquisitions a second of threads that never wait for each other and work for as long as each other, times what
    is drawn. The second thread may have begun later, which is a rest.
    """
    count, each = part["locks"] + part["reads"] + part["writes"], part["work_ns"] / part["threads"]
    return 0.6 * count / (each + part["rest_ns"]) * 1e9, 1.6 * count / each * 1e9


@pytest.mark.full
def test_counts_and_times_are_the_recorded_ones(recorded):
    found = replayed(recorded("pairs"), 2, "--mutex", "pthread,mcs")
    (part,) = found["parts"]
    assert (part["threads"], part["mutexes"], part["locks"]) == (2, 3, 2 * (ROUNDS + EDGES))
    assert part["locks"] == found["record"]["locks"]
    assert 2 * ROUNDS * 7000 <= part["work_ns"] <= 1.1 * found["record"]["cpu_ns"]
    glibcs, other = found["choices"]
    assert [choice["choice"] for choice in found["choices"]] == ["pthread", "mutex:mcs"]
    least, most = without_waits(part)
    for choice in (glibcs, other):
        assert least < choice["middle"] < most
        assert choice["unfinished"] == 0
        assert choice["in_calls"] < 0.1
    assert found["claims"] == []


@pytest.mark.full
def test_one_lock_gains_nothing_by_more_processors(recorded):
    folder = recorded("serial")
    few, many = (replayed(folder, cores, "--mutex", "mcs") for cores in (THREADS, 8 * THREADS))
    for found in (few, many):
        assert found["parts"][0]["locks"] == THREADS * (ROUNDS + EDGES)
        assert max(rates(found)) < 1.5 / 2e-6  # a hold of 2 us each
    assert rates(many)[0] == pytest.approx(rates(few)[0], rel=0.5)


@pytest.mark.full
def test_readers_go_side_by_side(recorded):
    found = replayed(recorded("reads"), 2, "--rwlock", "ba")
    (part,) = found["parts"]
    assert (part["rwlocks"], part["reads"], part["writes"]) == (1, 2 * ROUNDS - ROUNDS // 10, ROUNDS // 10)
    least, most = without_waits(part)
    assert all(least < rate < most for rate in rates(found))


@pytest.mark.full
def test_threads_that_take_turns_follow_the_signals(recorded):
    found = replayed(recorded("turns"), 2, "--mutex", "mcs")
    (part,) = found["parts"]
    assert 0 < part["signals"] <= 2 * TURNS
    assert part["locks"] >= 2 * (TURNS + EDGES)
    assert all(choice["unfinished"] == 0 for choice in found["choices"])
    assert any("goes on when the recorded signal is given" in line for line in found["caveats"])
    # One of the two works at any time, for 20 us.
    assert max(2 * TURNS / part["locks"] * rate for rate in rates(found)) < 1.5 / 20e-6


@pytest.mark.full
def test_draws_take_parts_of_a_long_record_in_turn(recorded):
    found = replayed(recorded("serial"), THREADS, "--mutex", "mcs", "--calls", "1000")
    assert len(found["parts"]) == 4
    assert all(part["locks"] == pytest.approx(1000, rel=0.05) for part in found["parts"])


@pytest.mark.full
def test_what_is_printed_is_marked_as_modelled(recorded):
    folder = recorded("pairs")
    replayed(folder, 2, "--mutex", "mcs")
    done = lockswap("predict", "--replay", folder, "--machine", machine(folder.parent, 2), "-m", "mcs", "--draws", "4")
    assert done.stdout.startswith("Modelled, not measured: calls_subject with 2 threads at once, replayed")
    assert "No lock is claimed to be faster than another." in done.stdout
    assert "mutex:mcs" in done.stdout


@pytest.mark.full
@pytest.mark.parametrize(
    ("word", "words", "says"),
    [
        ("serial", ("--mutex", "mcs"), f"{THREADS} threads ran at once, and cores-2 has 2 hardware threads"),
        ("pairs", ("--rwlock", "ba"), "the program acquired no reader-writer lock, so --rwlock changes nothing"),
        ("pairs", ("--mutex", "msc"), "no mutex 'msc', did you mean 'mcs'?"),
        ("pairs", (), "name locks to replay with: --rwlock ba,bravo-ba, or --mutex mcs,cohort"),
    ],
)
def test_what_it_refuses(recorded, word, words, says):
    if not MODEL.exists():
        pytest.skip("lockswap-model isn't built: ninja -C build lockswap-model")
    folder = recorded(word)
    done = lockswap("predict", "--replay", folder, "--machine", machine(folder.parent, 2), *words)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and says in done.stderr, done.stderr


def test_a_file_that_is_not_there_or_no_record(tmp_path):
    done = lockswap("predict", "--replay", tmp_path / "no", "--machine", "x5-2", "--mutex", "mcs")
    assert done.returncode == 2
    assert done.stderr.endswith(
        "/no is not there; make it with 'lockswap record --out {} -- PROGRAM'\n".format(tmp_path / "no")
    )
    (tmp_path / "text").write_text("no record")
    done = lockswap("predict", "--replay", tmp_path / "text", "--machine", "x5-2", "--mutex", "mcs")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "is not a record of lock calls of this version" in done.stderr
