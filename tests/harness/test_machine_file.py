"""`lockswap machine`, `predict --validate` and `--merge`: what is made of what was measured, without measuring."""

import json
import os
import re
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import tomli_w
from click.testing import CliRunner

from lockswap.base.errors import UserError
from lockswap.cli import cli
from lockswap.predict import machine_file, machines, measuring, pairs, validation, workloads
from lockswap.predict.bands import Band
from lockswap.predict.claims import Coverage
from lockswap.predict.draws import Draw
from lockswap.predict.measured import Measured, Place
from lockswap.predict.measuring import Spread
from lockswap.predict.topology import Grid
from lockswap.predict.validation import Row, Score
from lockswap.run.cpus import Cpu

ROOT = Path(__file__).resolve().parents[2]
MEASURE = ROOT / "build/bin/lockswap-measure"
ENV = {
    "cpu": {"model": "a model", "topology": "2 packages", "governor": "none", "virtualisation": "none"},
    "load_at_start": 0.0, "compiler": "gcc", "glibc": "2.36", "kernel": "Linux", "os": "Debian",
    "lockswap": {"library": "0.2.0", "commit": "abc"},
}  # fmt: skip


def two_sockets(threads: int = 2) -> list[Cpu]:
    """Four cores in two nodes; the second threads are numbered behind all first ones, as Linux does it."""
    return [Cpu(4 * t + core, core // 2, core // 2, core % 2) for t in range(threads) for core in range(4)]


def latency(one: int, other: int) -> float:
    """Of processors of two_sockets()."""
    a, b = one % 4, other % 4
    return 10.0 if a == b else 40.0 + a + b if a // 2 == b // 2 else 100.0 + a + b


def measured(grid: Grid) -> dict[tuple[int, int], Spread]:
    every = grid.processors
    return {
        (a, b): Spread(latency(a, b), 0.9 * latency(a, b), 1.1 * latency(a, b)) for a in every for b in every if a < b
    }


COSTS = {
    "load": 1.2,
    "load_among_others": 0.3,
    "load_and_branch": 0.5,
    "store_and_fence": 5.0,
    "exchange": 5.1,
    "add": 5.2,
    "compare_exchange": 4.8,
    "clock": 24.0,
}
OWN = {name: Spread(ns, ns, ns) for name, ns in COSTS.items()}
WAITS = {
    "wake": Spread(9000, 7000, 20000),
    "wake_call": Spread(2000, 1500, 3000),
    "futex_call": Spread(200, 190, 210),
    "switch": Spread(500, 450, 700),
    "slice": Spread(3e6, 2.9e6, 4e6),
}


def test_cores_are_in_the_order_of_their_nodes_whatever_their_numbers():
    grid = Grid.of(two_sockets())
    assert (grid.nodes, grid.threads, grid.left_out) == (2, 2, ())
    assert grid.cores == ((0, 4), (1, 5), (2, 6), (3, 7))


def test_an_affinity_mask_that_is_no_grid_loses_what_does_not_fit():
    grid = Grid.of([cpu for cpu in two_sockets() if cpu.number in (0, 1, 2, 4, 6)])
    assert (grid.nodes, grid.threads, grid.cores) == (2, 1, ((0,), (2,)))
    assert grid.left_out == (1, 4, 6)


def test_sockets_are_nodes_where_the_kernel_shows_no_nodes():
    assert Grid.of([replace(cpu, node=0) for cpu in two_sockets()]).cores == Grid.of(two_sockets()).cores


def test_predict_reads_what_machine_writes(tmp_path):
    grid = Grid.of(two_sockets())
    table = machine_file.describe(grid, measured(grid), OWN, {"none": {"read": 11.234}}, ENV)
    file = tmp_path / "m.toml"
    file.write_text(tomli_w.dumps(table, multiline_strings=True))
    machine = machines.find(ROOT / "predict/machines", str(file))
    assert (machine.nodes, machine.cores, machine.threads) == (2, 2, 2)
    assert machine.latency_ns == tuple(tuple(latency(a, b) for b in range(4)) for a in range(4))
    assert machine.title == "a model, 2 x 2 cores x 2 threads"
    assert machine.costs == {"hit": 0.3, "step": 0.2, "update": 4.5, "fence": 5.0, "clock": 24.0}
    text = Draw.of(machine, workloads.Workload("w", ""), 0.5, 1).text
    assert "cost update 4.500\n" in text and "cost hit 0.300\n" in text and text.count("cost update") == 1
    written = tomllib.loads(file.read_text())
    assert written["measured"]["spread"]["latencies"] == {"median": 0.2, "largest": 0.2}
    assert written["measured"]["uncontended_pairs_ns"] == {"none": {"read": 11.23}}


def test_replays_draw_what_was_measured_of_the_scheduler(tmp_path):
    grid = Grid.of(two_sockets())
    table = machine_file.describe(grid, measured(grid), OWN, {}, ENV, WAITS)
    assert table["measured"]["scheduling_ns"]["slice"] == [2.9e6, 3e6, 4e6]
    file = tmp_path / "m.toml"
    file.write_text(tomli_w.dumps(table, multiline_strings=True))
    machine = machines.find(ROOT / "predict/machines", str(file))
    assert machine.intervals == {
        "park": (190, 660),
        "unpark": (1500, 3000),
        "wake": (5500, 17000),
        "switch": (450, 700),
        "slice": (2.9e6, 4e6),
    }
    assert machine_file.describe(grid, measured(grid), OWN, {}, ENV)["intervals"] == {}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nodes = ", "Invalid value"),
        ('title = "t"\nsources = []\ncores = 1\nthreads = 1', "the key 'nodes' is missing"),
        ('title = "t"\nsources = []\nnodes = 1\ncores = 1\nthreads = 1', "the key 'own_core_ns' is missing"),
        ('title = "t"\nsources = []\nnodes = 1\ncores = 1\nthreads = 1\nlatency_table = "x"', "could not convert"),
        ('title = "t"\nsources = []\nnodes = 1\ncores = 2\nthreads = 1\nlatency_table = "1,2"', "need 2 rows"),
        ('title = "t"\nsources = []\nnodes = 1\ncores = 1\nthreads = 1\nlatencies = "no.csv"', "No such file"),
    ],
)
def test_a_damaged_file_is_said_in_a_line(tmp_path, text, says):
    file = tmp_path / "m.toml"
    file.write_text(text)
    with pytest.raises(UserError, match=says) as refused:
        machines.find(ROOT / "predict/machines", str(file))
    assert "m.toml" in str(refused.value) and "\n" not in str(refused.value)


def test_the_file_of_a_large_machine_is_small():
    cpus = [Cpu(number, number % 72 // 36, number % 72 // 36, number % 36) for number in range(144)]
    grid = Grid.of(cpus)
    found = {(a, b): Spread(123.4, 120, 130) for a in range(144) for b in range(a + 1, 144)}
    locks = {f"lock-{n}": {"read": 11.11, "write": 12.12} for n in range(80)}
    text = tomli_w.dumps(machine_file.describe(grid, found, OWN, locks, ENV), multiline_strings=True)
    assert (grid.nodes, len(grid.cores), grid.threads) == (2, 72, 2)
    assert len(text) < 64 << 10


def test_what_machine_refuses(tmp_path):
    there = tmp_path / "there.toml"
    there.touch()
    for words, says in (
        (["--out", str(there)], "exists already"),
        (["--out", str(tmp_path / "m.txt")], "must end in .toml"),
    ):
        done = CliRunner().invoke(cli, ["machine", *words])
        assert isinstance(done.exception, UserError) and says in str(done.exception)


needs_measure = pytest.mark.skipif(not MEASURE.exists(), reason="skipped: lockswap-measure is not built")


@needs_measure
def test_it_measures_the_processors_that_it_may_use():
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("skipped: one processor has no pairs")
    done = subprocess.run(
        [MEASURE, "latencies", "0.05", *map(str, cpus[:2])], capture_output=True, text=True, check=True
    )
    one, other, middle, low, high = done.stdout.split()
    assert [int(one), int(other)] == cpus[:2] and 0 < float(low) <= float(middle) <= float(high)
    costs = measuring.operations(MEASURE, cpus[0])
    assert set(costs) == set(OWN) and all(0 < one.low <= one.median <= one.high for one in costs.values())
    assert costs["load"].median < costs["compare_exchange"].median


@needs_measure
def test_it_measures_what_the_scheduler_takes():
    cpus = sorted(os.sched_getaffinity(0))
    found = measuring.scheduling(MEASURE, Grid(1, 1, tuple((cpu,) for cpu in cpus[:2]), ()))
    if len(cpus) < 2:
        assert found == {}
        return
    assert set(found) == set(WAITS) and all(0 < one.low <= one.median <= one.high for one in found.values())
    assert found["futex_call"].median < found["wake"].median


@needs_measure
def test_a_processor_that_is_not_there_is_said():
    for words in (
        ["latencies", "0.1", "0", "9999"],
        ["latencies", "0.1", "9999", "0"],
        ["costs", "9999"],
        ["scheduling", "0", "9999"],
    ):
        done = subprocess.run([MEASURE, *words], capture_output=True, text=True, timeout=600)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("lockswap-measure: ") and "9999" in done.stderr and done.stderr.count("\n") == 1


def row(lock: str, predicted: float, found: float, threads: int = 1) -> Row:
    band = Band(predicted * 0.75, predicted, predicted * 1.25)
    return Row(Place(lock, "rwlock", 0.0, threads), band, Measured(found, found, found))


def test_a_score():
    rows = [row("a", 100, 110), row("b", 100, 200), row("c", 100, 105), row("a", 50, 50, 2), row("b", 20, 100, 2)]
    score = Score.of(rows)
    assert (score.points, score.inside) == (5, 3)
    assert score.error == pytest.approx(1 - 100 / 110)
    # Of four pairs, only the bands of a and b with two threads are apart.
    assert (score.covered, score.width) == (Coverage(1, 4), pytest.approx(1.25 / 0.75))
    assert Score.of(rows, Coverage(3, 4)).covered.share == 0.75
    # Apart are b from a and from c with one thread, and b from a with two, where the prediction had them otherwise.
    assert (score.ordered, score.right) == (3, 0)
    assert [(one.place.lock, one.place.threads) for one in validation.worst(rows, 1)] == [("b", 2)]


def validated(folder: Path, name: str, factor: float) -> Path:
    rows = [row("a", 100, 100 * factor), row("b", 300, 300 * factor)]
    about = {"machine": {"title": f"machine {name}"}, "predicted_at": "1", "measured_at": "2", "draws": 4, "rounds": 5}
    about["claims"] = {"made": 7, "pairs": 8}
    file = folder / f"{name}.json"
    file.write_text(
        validation.as_json(about, {r.place: r.predicted for r in rows}, {r.place: r.measured for r in rows})
    )
    return file


def test_files_of_several_machines_are_merged(tmp_path):
    files = [validated(tmp_path, "one", 1.1), validated(tmp_path, "two", 3)]
    done = CliRunner().invoke(cli, ["predict", "--merge", "--json", *map(str, files)])
    assert done.exit_code == 0, done.exception
    one, two = json.loads(done.output)
    assert (one["machine"], one["points"], one["inside"], one["right"], one["ordered"]) == ("machine one", 2, 2, 1, 1)
    assert (one["covered"], one["width"]) == ({"made": 7, "pairs": 8}, pytest.approx(1.25 / 0.75))
    assert two["inside"] == 0 and two["error"] == pytest.approx(2 / 3) and len(two["outside"]) == 2
    done = CliRunner().invoke(cli, ["predict", "--merge", *map(str, files)])
    assert "machine one" in done.output and "machine two" in done.output and "100%" in done.output
    for heading, value in (("top/bottom", "1.7"), ("claimed", "88%")):
        assert heading in done.output and value in done.output


def test_a_page_of_several_machines_keeps_them_apart(tmp_path):
    files = [validated(tmp_path, "one", 1.1), validated(tmp_path, "two", 3)]
    done = CliRunner().invoke(cli, ["predict", "--merge", *map(str, files), "--page", str(tmp_path / "page")])
    assert done.exit_code == 0, done.exception
    text = (tmp_path / "page/validated.html").read_text(encoding="utf-8")
    scores, first, second = re.split(r'<section id="machine-\d">', text)
    assert scores.count("<td>machine ") == 2 and "88%" in scores.replace("\u2009", "").replace(" ", "")
    assert "machine one" in first and "machine two" not in first
    assert (first.count(">yes<"), second.count(">yes<"), second.count(">no<")) == (2, 0, 2)


def test_the_predictions_are_written_before_anything_is_measured(tmp_path):
    file = tmp_path / "v.json"
    about = {"machine": {"title": "here"}, "predicted_at": "1"}
    file.write_text(validation.as_json(about, {row("a", 1, 1).place: row("a", 1, 1).predicted}, {}))
    assert json.loads(file.read_text())["points"][0]["predicted"] == {"low": 0.75, "middle": 1.0, "high": 1.25}
    with pytest.raises(UserError, match="is unfinished: 1 predictions were not measured"):
        validation.read(file)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is damaged: "),
        ("[]", "is damaged: "),
        ("{}", "was not written by this version's"),
        ('{"what": "lockswap predict --validate", "schema": 1}', "is damaged: the key 'points' is missing"),
    ],
)
def test_what_is_no_such_file_is_said(tmp_path, text, says):
    file = tmp_path / "v.json"
    file.write_text(text)
    with pytest.raises(UserError, match=rf"v\.json {says}"):
        validation.read(file)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--merge"], "name the files to merge"),
        (["x.json"], "a file needs --merge"),
        (["--validate", "v.json", "x.json"], "a file needs --merge"),
        (["--validate", "v.json", "--workload", "rwbench"], "--workload has no effect with --validate: drop it"),
        (["--replay", "r", "--machine", "x5-2", "--threads", "2"], "--threads has no effect with --replay: drop it"),
        (["--list", "--merge"], "--merge has no effect with --list: drop it"),
        (["--machine", "x5-2", "--rounds", "3"], "--rounds has no effect without --validate: drop it"),
        (["--machine", "x5-2", "--calls", "500"], "--calls has no effect without --replay: drop it"),
    ],
)
def test_what_predict_refuses(words, says):
    done = CliRunner().invoke(cli, ["predict", *words])
    assert isinstance(done.exception, UserError) and says in str(done.exception)


@pytest.mark.full
def test_this_machine_is_predicted_and_then_measured(tmp_path):
    for program in ("bin/lockswap-measure", "bin/lockswap-model", "apps/pairs", "liblockswap.so"):
        if not (ROOT / "build" / program).exists():
            pytest.skip(f"skipped: {program} is not built")
    call = [str(ROOT / "build/venv/bin/python"), "-m", "lockswap"]
    subprocess.run([*call, "machine", "-o", "m.toml", "--seconds", "0.1"], cwd=tmp_path, check=True)
    text = (tmp_path / "m.toml").read_text()
    assert not re.search(rf"\b{re.escape(os.uname().nodename)}\b", text) and str(Path.home()) not in text
    options = ["--machine", "m.toml", "-l", "ba", "-m", "mcs", "--threads", "1", "--draws", "4", "--rounds", "1"]
    done = subprocess.run(
        [*call, "predict", "--validate", "v.json", *options], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = validation.read(tmp_path / "v.json")
    assert [(one.place.lock, one.place.writes) for one in found.rows] == [("ba", 0), ("ba", 1), ("mcs", 1)]
    assert found.about["claims"] == {"made": 0, "pairs": 0}  # one lock of each kind
    assert found.about["predicted_at"] <= found.about["measured_at"] and found.about["machine"]["nodes"] >= 1
    assert all(one.measured.middle > 1e5 for one in found.rows)


def test_a_run_in_which_nothing_was_done_is_said(monkeypatch):
    """Others had the processors, or the run was too short."""
    monkeypatch.setattr(pairs, "_run", lambda *_: "live_ns 0.00 kept 0.00 all_ns 0.00")
    place = Place(kind="rwlock", lock="ba", writes=0.0, threads=2)
    with pytest.raises(UserError, match=r"ba did nothing in 0.05 s: raise --seconds"):
        pairs._rate(SimpleNamespace(library=Path("liblockswap.so")), Path("pairs"), place, 0.05, pairs.Loop(1.0, 0.0))
