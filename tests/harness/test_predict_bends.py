"""Where throughput bends: found where all draws agree, and nothing is said elsewhere."""

from dataclasses import replace
from pathlib import Path

import pytest

from lockswap.predict import bends, machines, model, workloads
from lockswap.predict.bands import Point, Subject
from lockswap.predict.bends import Bend
from lockswap.predict.machines import Machine

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "build/bin/lockswap-model"
COUNTS = (1, 2, 4, 8, 16, 32, 64)
PACES = (0.2, 0.5, 1, 2, 9)  # of the draws: they differ by far more than a lock's points


def _points(rates: dict[int, float], paces: dict[int, tuple[float, ...]] | None = None) -> list[Point]:
    return [
        Point(Subject("a", "rwlock"), threads, tuple(rate * pace for pace in (paces or {}).get(threads, PACES)), 0)
        for threads, rate in rates.items()
    ]


@pytest.mark.parametrize(
    ("knee", "where"),
    [(8, (4, 16)), (2, (1, 4)), (1, (1, 2)), (12, (8, 32)), (64, None)],
)
def test_a_lock_that_does_no_more_beyond_its_knee(knee, where):
    """The knee is between the two numbers. A gain of twice as many threads says only that not all are beyond it."""
    found = bends.of(_points({threads: float(min(threads, knee)) for threads in COUNTS}))
    assert [(one.after, one.by) for one in found] == ([where] if where else [])


def test_what_rises_later_has_not_bent():
    level = dict.fromkeys(COUNTS, 1.0)
    assert bends.of(_points(level | {64: 4.0})) == []
    assert bends.of(_points(level | {8: 4.0})) == [Bend("a", "rwlock", 4, 16)]


def test_where_the_draws_disagree_nothing_is_said():
    rates = {threads: float(min(threads, 8)) for threads in COUNTS}
    torn = (0.2, 0.5, 1, 4, 40)  # two draws go on rising there
    assert bends.of(_points(rates, {64: torn})) == []
    assert bends.of(_points(rates, {16: torn})) == [Bend("a", "rwlock", 4, 32)]


def test_small_steps_and_single_points_say_nothing():
    assert bends.of(_points({8: 1, 10: 1, 15: 1})) == []
    assert bends.of(_points({8: 1})) == []
    # A step is from half of the threads or fewer, so the counts between don't hide a bend.
    assert bends.of(_points({8: 8.0, 10: 9.0, 16: 8.0, 18: 8.0, 36: 8.0})) == [Bend("a", "rwlock", 8, 16)]


def _asked(machine: Machine, step_ns: float, kind: str, writes: float, locks: tuple[str, ...], ms: float) -> list[Bend]:
    if not MODEL.exists():
        pytest.skip("lockswap-model isn't built: ninja -C build lockswap-model")
    plain = workloads.find(ROOT / "predict/workloads.toml", "rwbench")
    workload = replace(plain, step_ns=(step_ns, step_ns)) if step_ns else plain
    subjects = tuple(Subject(lock, kind) for lock in locks)
    threads = tuple(count for count in COUNTS if count <= machine.cores * machine.nodes)
    return bends.of(model.ask(MODEL, model.Question(machine, workload, writes, subjects, threads, 4, ms * 1e6)))


@pytest.mark.full
def test_the_model_finds_the_knee_of_long_sections():
    """Sections of 10 steps with 100 between: eleven threads keep any mutex busy, if a step is long."""
    even = tuple(tuple(10.0 if a == b else 40.0 for b in range(64)) for a in range(64))
    machine = Machine("even", "even", ("made up",), 1, 64, 1, even)
    found = _asked(machine, 1000, "mutex", 1, ("ticket", "mcs", "clh"), 20)
    assert [one.lock for one in found] == ["ticket", "mcs", "clh"]
    assert all(4 <= one.after < 11 < one.by <= 32 for one in found)


@pytest.mark.full
def test_locks_with_one_counter_bend_on_the_machine_of_a_paper_and_others_do_not():
    machine = machines.find(ROOT / "predict/machines", "x5-2")
    found = {one.lock: one for one in _asked(machine, 0, "rwlock", 0, ("pf-t", "ba", "per-cpu"), 1)}
    assert found.keys() == {"pf-t", "ba"}
    assert all(one.by <= 8 for one in found.values())
    found = _asked(machine, 0, "mutex", 1, ("ticket",), 1)
    assert [one.by for one in found] == [2]
