"""Rounds: their order, when they end, and that ending by the width of intervals does not make claims out of noise."""

import dataclasses
import random
from collections import Counter
from types import SimpleNamespace

import pytest

from lockswap.campaign.execution import _Execution
from lockswap.campaign.job import Job, quick_count
from lockswap.campaign.plan import runs_of
from lockswap.campaign.rounds import Rounds, turns
from lockswap.campaign.time_estimate import TimeEstimate
from lockswap.findings.loading import workload_of
from lockswap.findings.measured import Workload
from lockswap.findings.precision import width
from lockswap.recipes.recipe import LockCheck, Recipe
from lockswap.records.row import Row
from lockswap.run import cpus
from lockswap.run.cpus import Cpu

LOCKS = ["none", "pthread", "ba"]
INFO = {
    "name": "w",
    "threads": [2],
    "metric": [{"name": "ops", "role": "total", "unit": "ops/s", "better": "higher"}],
}


def test_locks_take_turns():
    orders = Counter()
    for number in range(1, 21):
        taken = turns(number, ("w", 2), LOCKS, seed=5)
        # Every lock once, and the program as it is twice, next to each other in time.
        assert sorted((turn.lock, turn.second_run) for turn in taken) == [
            ("ba", 0),
            ("none", 0),
            ("none", 1),
            ("pthread", 0),
        ]
        orders[tuple(turn.lock for turn in taken)] += 1
    assert len(orders) > 8  # drawn anew each time
    assert turns(3, ("w", 2), LOCKS, 5) == turns(3, ("w", 2), LOCKS, 5) != turns(3, ("w", 2), LOCKS, 6)


def play(rounds: Rounds, dice: random.Random, noise: float = 0.1, factor: float = 1.0, most: int = 40) -> list[Row]:
    """Take the turns; every run gives about 1000, under 'ba' times `factor`."""
    rows = []
    for turn in rounds:
        if turn.round > most:
            break
        value = 1000 * dice.lognormvariate(0, noise) * (factor if turn.lock == "ba" else 1)
        rows.append(row(turn, value))
        rounds.add(rows[-1])
    return rows


def row(turn, value: float) -> Row:
    numbers = {"wall_s": 1.0, "cpu_s": 1.0}
    return Row(
        0,
        turn.round,
        *turn[1:2],
        turn.lock,
        turn.threads,
        "ok",
        second_run=turn.second_run,
        numbers=numbers,
        metrics={"ops": value},
    )


def judged(rows: list[Row]) -> Workload:
    return workload_of(INFO, {"locks": LOCKS}, rows)


def widest(key, rows: list[Row]) -> float:
    return width(judged(rows), key[1])


def rounds_of(until: float | None, least: int = 7) -> Rounds:
    return Rounds({("w", 2): LOCKS}, 1, least, until, widest)


def test_without_until_there_are_as_many_rounds_as_asked():
    rows = play(rounds_of(None, least=3), random.Random(1))
    assert len(rows) == 3 * 4 and max(row.round for row in rows) == 3


def test_until_goes_on_until_the_interval_is_narrow():
    rounds = rounds_of(0.05)
    rows = play(rounds, random.Random(1), noise=0.06)
    made = rows[-1].round
    assert 7 < made < 40
    metric = judged(rows).metrics[0]
    assert judged(rows).ratio(2, "ba", metric).width <= 0.05
    assert judged(rows).noise(2, metric).width <= 0.05
    assert widest(("w", 2), [row for row in rows if row.round < made]) > 0.05
    assert rounds.left() == {("w", 2): 0}


def test_a_quiet_workload_takes_no_more_than_the_least():
    assert play(rounds_of(0.05), random.Random(1), noise=0.001)[-1].round == 7


def test_the_guess_of_what_is_left_shrinks_with_the_square_of_the_width():
    rounds = rounds_of(0.05)
    rows = play(rounds, random.Random(3), noise=0.3, most=12)
    wide = widest(("w", 2), rows)
    left = rounds.left()["w", 2]
    assert left == pytest.approx((12 * (wide / 0.05) ** 2 - 12) * 4, abs=5)


@pytest.mark.parametrize("made", [5, 30, 33])
def test_an_interrupted_campaign_takes_the_turns_it_would_have_taken(made):
    values = {}

    def value(turn):
        return values.setdefault(turn, 1000 * random.Random(str(turn)).lognormvariate(0, 0.06))

    def finish(rounds, rows):
        for turn in rounds:
            rows.append(row(turn, value(turn)))
            rounds.add(rows[-1])
        return [(row.round, row.lock, row.second_run) for row in rows]

    whole = finish(rounds_of(0.05), [])
    assert len(whole) > 33
    rows, rounds = [], rounds_of(0.05)
    for turn in rounds:
        rows.append(row(turn, value(turn)))
        rounds.add(rows[-1])
        if len(rows) == made:
            break
    again = rounds_of(0.05)
    for earlier in rows:
        again.add(earlier)
    assert finish(again, rows) == whole


def test_what_an_interrupted_round_measured_does_not_end_it():
    def narrow_by_the_fourth(_, rows: list[Row]) -> float:
        return 0.0 if any(row.round == 4 for row in rows) else 1.0

    rounds = Rounds({("w", 2): LOCKS}, 1, 3, 0.05, narrow_by_the_fourth)
    taken = [turn for number in range(1, 5) for turn in turns(number, ("w", 2), LOCKS, 1)]
    for turn in taken[:-2]:
        rounds.add(row(turn, 1000.0))
    assert list(rounds) == taken[-2:]


def test_a_starved_side_and_a_broken_lock_are_not_waited_for():
    def rows(value):
        return [row(turn, value(turn)) for number in range(1, 9) for turn in turns(number, ("w", 2), LOCKS, 1)]

    starved = rows(lambda turn: 0.0 if turn.lock == "ba" else 1000.0)
    assert width(judged(starved), 2) == 0
    broken = rows(lambda turn: 1000.0 * (1 + turn.round / 10 * (turn.lock == "ba")))
    assert width(judged(broken), 2) > 0.05
    for one in broken:
        if one.lock == "ba":
            one.status, one.metrics = "skipped", {}
    assert width(judged(broken), 2) == 0


def claims(rows: list[Row]) -> bool:
    workload = judged(rows)
    metric = workload.metrics[0]
    return any(
        workload.ratio(2, "ba", figure).verdict in ("faster", "slower")
        for figure in (metric, workload.per_cpu_figures["ops"])
    )


@pytest.mark.parametrize("noise", [0.03, 0.08])
def test_stopping_by_width_does_not_make_claims_out_of_noise(noise):
    """Equals: at most one campaign in twenty may claim a difference, however the rounds ended."""
    dice = random.Random(42)
    trials = 150
    wrong = sum(claims(play(rounds_of(0.05), dice, noise=noise)) for _ in range(trials))
    assert wrong / trials <= 0.05


def test_a_lock_that_is_a_fifth_slower_is_found():
    dice = random.Random(7)
    found = 0
    for _ in range(20):
        rows = play(rounds_of(0.05), dice, noise=0.08, factor=1 / 1.2)
        verdict = judged(rows).ratio(2, "ba", judged(rows).metrics[0]).verdict
        assert verdict != "faster"
        found += verdict == "slower"
    assert found >= 19


def job(fixed_work: bool, locks: list[str]) -> Job:
    recipe = Recipe(
        name="w",
        title="",
        source="",
        measures="",
        command=("w",),
        threads=(1, 2),
        metrics=(),
        lock_check=LockCheck(),
        fixed_work=fixed_work,
    )
    return Job(recipe, (1, 2), 2, {}, user_command=True, locks=tuple(locks))


def test_as_many_runs_are_announced_as_the_rounds_take():
    announced = runs_of([job(True, LOCKS)], 3)
    assert announced == {("w", n): 3 * len(turns(1, ("w", n), LOCKS, 1)) for n in (1, 2)}


def test_the_time_left_is_unknown_until_a_fixed_amount_of_work_was_done_once():
    work = job(True, LOCKS)
    estimate = TimeEstimate([work])
    runs = {("w", 1): 10, ("w", 2): 10}
    assert estimate.left(runs, [work.recipe] * 3) is None
    estimate.saw_check(work.recipe, 0.25)
    assert estimate.left(runs, [work.recipe] * 2) == pytest.approx(22 * 0.25)
    estimate.saw(("w", 1), 0.5)
    assert estimate.left(runs) == pytest.approx(10)
    estimate.saw(("w", 2), 2.0)
    assert estimate.left(runs) == pytest.approx(5 + 20)


@pytest.mark.parametrize(("usable", "count"), [(1, 4), (2, 8), (4, 8), (64, 8)])
def test_a_quick_campaign_has_up_to_four_threads_a_processor(monkeypatch, usable, count):
    monkeypatch.setattr(cpus, "cpus", lambda: [Cpu(number, 0, 0, number) for number in range(usable)])
    assert quick_count((1, 2, 4, 8)) == (count,)
    assert quick_count((1000,)) == (1000,)


def test_the_time_left_of_runs_of_given_length_is_known_at_once():
    timed = job(False, LOCKS)
    assert TimeEstimate([timed]).left({("w", 1): 4}, [timed.recipe]) == pytest.approx(5 * 2.2)


def test_a_recipe_that_says_how_long_its_work_takes_is_believed_until_it_was_seen():
    work = job(True, LOCKS)
    recipe = dataclasses.replace(work.recipe, run_s=4.0, params={"records": 1000, "mode": "fast"})
    short = dataclasses.replace(work, recipe=recipe, params={"records": 500, "mode": "fast", "OF_SCAN": "7"})
    estimate = TimeEstimate([short])
    # Half the records; a quarter and half of 8 threads.
    assert estimate.left({("w", 2): 1}) == pytest.approx(0.5 + 0.2)
    assert estimate.left({("w", 4): 10}) == pytest.approx(10 * 1.2)
    estimate.saw(("w", 2), 9.0)
    assert estimate.left({("w", 2): 1}) == pytest.approx(9)
    assert estimate.left({("w", 4): 1}) == pytest.approx(1.2)  # more threads have more work


def test_what_is_not_run_takes_no_time():
    """Six of the seven locks are not taken: only their rows are written."""
    locks = ["none", *"abcdefg"]
    plan = SimpleNamespace(jobs=[job(True, locks)], budget_s=None)
    execution = _Execution(plan, watcher=None)
    execution.estimate.saw(("w", 1), 1.0)
    rounds = Rounds({("w", 1): locks}, 1, 10, None, lambda *_: 0.0)
    assert execution._left_s(rounds) == pytest.approx(90)
    execution.unfit = {("w", lock): ("no lock", "") for lock in "abcdef"}
    assert execution._left_s(rounds) == pytest.approx(30)
    execution.failed["w", 1, "g", "hung"] = 1
    assert execution._left_s(rounds) == pytest.approx(20)
