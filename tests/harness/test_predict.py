"""Machines, draws, bands and claims of the cost model, without the model itself; and what the command says."""

import math
import re
import tomllib
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import tomli_w
from click.testing import CliRunner

from lockswap.base.errors import UserError
from lockswap.cli import cli
from lockswap.commands import predict as predict_command
from lockswap.predict import bands, claims, fitted, machines, model, workloads
from lockswap.predict.draws import FITTED, Draw

ROOT = Path(__file__).resolve().parents[2]
MACHINES = ROOT / "predict/machines"
WORKLOADS = ROOT / "predict/workloads.toml"
RWBENCH = workloads.find(WORKLOADS, "rwbench")


@pytest.mark.parametrize("name", machines.names(MACHINES))
def test_a_machine_is_whole(name):
    machine = machines.find(MACHINES, name)
    cores = machine.nodes * machine.cores
    assert machine.sources and all(machine.sources)
    near = [machine.latency_ns[0][c] for c in range(1, machine.cores)]
    far = [machine.latency_ns[0][c] for c in range(machine.cores, cores)]
    assert machine.threads == 1 or 0 < machine.latency_ns[0][0] < min(near)
    assert machine.nodes == 1 or max(near) < min(far)
    assert all(abs(machine.latency_ns[a][b] - machine.latency_ns[b][a]) < 0.11 for a in range(cores) for b in range(a))


def test_a_machine_of_the_user_s_own(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(
        'title = "mine"\nsources = ["measured here"]\nnodes = 1\ncores = 2\nthreads = 1\nlatencies = "m.csv"\n'
    )
    (tmp_path / "m.csv").write_text("10,40\n40,10\n")
    assert machines.find(MACHINES, str(file)).latency_ns == ((10, 40), (40, 10))
    (tmp_path / "m.csv").write_text("10,40\n40\n")
    with pytest.raises(UserError, match="2 cores need 2 rows"):
        machines.find(MACHINES, str(file))


def _lines(draw: Draw) -> dict[str, str]:
    return dict(line.split(" ", 1) for line in draw.text.splitlines() if line[0].isalpha())


def test_a_draw_is_repeated_by_its_number_and_keeps_the_fitted_constants():
    machine = machines.find(MACHINES, "x5-2")
    draws = [Draw.of(machine, RWBENCH, 0.01, n) for n in (0, 0, 1)]
    assert draws[0] == draws[1] != draws[2]
    for draw in draws:
        for name, value in FITTED.items():
            assert f"cost {name} {value:.3f}\n" in draw.text
    assert {_lines(Draw.of(machine, RWBENCH, 0.01, n))["arbitration"] for n in range(40)} == {
        "first_come",
        "nearest",
        "random",
    }


def test_each_core_has_a_thread_before_one_has_two():
    machine = machines.find(MACHINES, "e5-2690")
    text = Draw.of(machine, RWBENCH, 0.01, 3).text
    places = [tuple(map(int, m.groups())) for m in re.finditer(r"^(\d+) (\d+)$", text, re.MULTILINE)]
    assert len(places) == machine.processors
    assert sorted(core for core, _ in places[:16]) == list(range(16))
    assert all(node == machine.node_of(core) for core, node in places)


def _point(name: str, rates, threads: int = 8) -> bands.Point:
    return bands.Point(bands.Subject(name, "rwlock"), threads, tuple(rates), 0)


def test_a_band_is_never_narrower_than_a_quarter_to_each_side():
    assert bands.Band.of([100.0] * 20) == bands.Band(75, 100, 125)
    wide = bands.Band.of([10.0, 100.0, 1000.0] * 10)
    assert wide.low <= 10 and wide.high >= 1000


def test_locks_are_claimed_apart_where_the_draws_agree():
    slow = [100.0 * (1 + n / 10) for n in range(20)]  # the draws differ by far more than the two locks
    fast = [2 * v for v in slow]
    assert claims.compare(_point("a", fast), _point("b", slow)) == claims.Claim("a", "b", 8, 2)
    assert claims.compare(_point("b", slow), _point("a", fast)) == claims.Claim("a", "b", 8, 2)
    assert claims.compare(_point("a", [1.2 * v for v in slow]), _point("b", slow)) is None  # within a quarter
    torn = [v if n % 2 else v / 5 for n, v in enumerate(fast)]
    assert claims.compare(_point("a", torn), _point("b", slow)) is None
    found = claims.Claims.of([_point("a", fast), _point("b", slow), _point("c", slow), _point("a", fast, 16)])
    assert (len(found.made), found.pairs) == (2, 3)
    assert found.covered.share == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "name a machine: --machine x5-2; 'lockswap predict --list' shows all"),
        (("--machine", "x52", "-l", "ba"), "no machine 'x52', did you mean 'x5-2'?"),
        (("--machine", "no.toml", "-l", "ba"), "there is no file 'no.toml'"),
        (("--machine", "x5-2", "-l", "ba", "-w", "rwbenc"), "no workload 'rwbenc', did you mean 'rwbench'?"),
        (("--machine", "x5-2", "-l", "ba", "--threads", "4,x"), "--threads '4,x' is not a list of numbers"),
        (("--machine", "x5-2", "-l", "ba", "-w", "rlu-list"), "which 'lockswap paper FIGURE --machine x5-2' models"),
        (("--machine", "x5-2", "-l", "ba,pthread", "--threads", "2,80"), "give --threads above 72 alone, or drop it"),
    ],
)
def test_what_it_refuses(words, says):
    done = CliRunner().invoke(cli, ["predict", *words])
    assert isinstance(done.exception, UserError)
    assert says in str(done.exception)


def test_it_lists_machines_and_workloads():
    done = CliRunner().invoke(cli, ["predict", "--list"])
    assert done.exit_code == 0
    for name in (*machines.names(MACHINES), *workloads.read(WORKLOADS)):
        assert name in done.output


def test_fitted_constants_are_said():
    known = {name: machines.find(MACHINES, name) for name in machines.names(MACHINES)}
    assert [name for name, machine in known.items() if machine.fitted] == ["d-2191"]
    for machine in known.values():
        text = fitted.said(machine)
        assert all(f"{value:g}" in text or f"{value:.0%}" in text for value in fitted.values(machine).values())
    assert fitted.values(known["x5-2"]) == FITTED
    assert fitted.values(known["d-2191"]).keys() - FITTED.keys() == {"latencies"}


@pytest.mark.full
def test_bravo_scales_where_the_lock_below_it_does_not():
    """The model itself, for the one statement that all of BRAVO's evaluation is about."""
    program = ROOT / "build/bin/lockswap-model"
    if not program.exists():
        pytest.skip("lockswap-model isn't built: ninja -C build lockswap-model")
    question = model.Question(
        machines.find(MACHINES, "x5-2"),
        RWBENCH,
        0.0001,
        (bands.Subject("ba", "rwlock"), bands.Subject("bravo-ba", "rwlock")),
        (1, 8, 36),
        4,
        5e6,
    )
    points = model.ask(program, question)
    assert points == model.ask(program, question)
    ba, bravo = points[:3], points[3:]
    assert ba[2].band.middle < 2 * ba[0].band.middle
    assert all(more.band.middle > 1.3 * less.band.middle for less, more in pairwise(bravo))
    assert {(c.faster, c.slower, c.threads) for c in claims.Claims.of(points).made} == {
        ("bravo-ba", "ba", 8),
        ("bravo-ba", "ba", 36),
    }
    fewer = model.ask(program, replace(question, threads=(8,)))
    assert fewer[0].rates == ba[1].rates  # a point doesn't depend on those beside it


@pytest.mark.full
def test_threads_of_an_address_space_are_spread_over_their_programs():
    """So they don't all come to the same mapping at once, which would make longer runs slower."""
    program = ROOT / "build/bin/lockswap-model-structures"
    if not program.exists():
        pytest.skip("lockswap-model-structures isn't built: ninja -C build lockswap-model-structures")
    machine = machines.find(MACHINES, "e7-8870")
    mix = workloads.find(WORKLOADS, "space-segments")
    asked = model.Question(machine, mix, 0, (bands.Subject("pure-rcu", "design"),), (1, 80), 2, 1e6)
    short, long = (model.ask(program, replace(asked, virtual_ns=ns)) for ns in (1e6, 6e6))
    assert long[1].band.middle > 0.5 * short[1].band.middle
    fault_ns = mix.inside_steps * mix.step_ns[0]
    assert all(rate < 1e9 / fault_ns for rate in short[0].rates)


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("cores", 0, "cores = 0: give a whole number of at least 1"),
        ("threads", 1.5, "threads = 1.5: give a whole number of at least 1"),
        ("node_ns", -34.0, "-34 is no time in nanoseconds: give 0 to 1e+09"),
        ("remote_ns", math.nan, "nan is no time in nanoseconds"),
        ("costs", {"hit": math.inf}, "inf is no time in nanoseconds"),
    ],
)
def test_a_machine_file_with_impossible_numbers_is_refused(tmp_path, key, value, says):
    file = tmp_path / "mine.toml"
    table = tomllib.loads((MACHINES / "e7-8870.toml").read_text(encoding="utf-8"))
    file.write_text(tomli_w.dumps({**table, key: value}), encoding="utf-8")
    with pytest.raises(UserError, match=re.escape(says)):
        machines.find(MACHINES, str(file))


def test_a_lock_that_is_named_twice_is_asked_once():
    assert predict_command._names("ba, bravo-ba,,ba") == ("ba", "bravo-ba")
