"""The arithmetic of intervals agrees with independent calculations."""

import itertools
import math
import random

import pytest
from scipy import stats as scipy_stats

from lockswap.findings import stats


def exact_coverage(n: int, rank: int) -> float:
    """By enumeration: how often the true difference (0) lies within the Walsh averages rank..-1-rank."""
    inside = 0
    values = [2**k for k in range(n)]  # all Walsh averages differ, so ranks are unambiguous
    ranked = {value: position + 1 for position, value in enumerate(values)}
    for signs in itertools.product((1, -1), repeat=n):
        positive = sum(ranked[value] for value, sign in zip(values, signs, strict=True) if sign > 0)
        most = n * (n + 1) // 2
        inside += rank < positive < most - rank
    return inside / 2**n


@pytest.mark.parametrize("n", range(stats.MIN_PAIRS, 13))
def test_interval_covers_95_percent_and_no_narrower_one_does(n):
    rank = stats.signed_rank_rank(n)
    assert exact_coverage(n, rank) >= 0.95
    assert exact_coverage(n, rank + 1) < 0.95


def test_critical_values_are_those_of_the_textbooks():
    table = {6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 12: 13, 15: 25, 20: 52, 25: 89, 30: 137}
    assert {n: stats.signed_rank_rank(n) for n in table} == table


@pytest.mark.parametrize("n", [*range(1, 33), 60, 100])
def test_the_rank_is_the_largest_that_scipys_test_rejects(n):
    """A rank here is the sum of the ranks above zero. It is 0 if the test rejects none."""

    def rejects(total: int) -> bool:
        signed, left = [], total
        for rank in range(n, 0, -1):
            signed.append(rank if rank <= left else -rank)
            left -= rank if rank <= left else 0
        return scipy_stats.wilcoxon(signed, method="exact").pvalue <= 1 - stats.LEVEL

    rank = stats.signed_rank_rank(n)
    assert rank == 0 or rejects(rank)
    assert not rejects(rank + 1)


def test_fewer_pairs_cannot_reach_95_percent():
    assert exact_coverage(stats.MIN_PAIRS - 1, 0) < 0.95
    clear = stats.paired_ratio([10.0] * 5, [1.0] * 5)
    assert clear.estimate == pytest.approx(10)
    assert clear.verdict == "can't tell"


def test_verdict_agrees_with_scipys_signed_rank_test():
    dice = random.Random(7)
    for _ in range(300):
        base = [dice.lognormvariate(0, 0.1) for _ in range(8)]
        mine = [x * dice.lognormvariate(0.08, 0.1) for x in base]
        ratio = stats.paired_ratio(mine, base)
        logs = [math.log(x / y) for x, y in zip(mine, base, strict=True)]
        p = scipy_stats.wilcoxon(logs, method="exact").pvalue
        assert (ratio.low > 1 or ratio.high < 1) == (p < 0.05)


def test_equals_are_called_different_no_more_often_than_one_time_in_twenty():
    dice = random.Random(1)
    trials, wrong = 2000, 0
    for _ in range(trials):
        pairs = [(dice.lognormvariate(0, 0.3), dice.lognormvariate(0, 0.3)) for _ in range(7)]
        ratio = stats.paired_ratio([x for x, _ in pairs], [y for _, y in pairs])
        wrong += ratio.verdict in ("faster", "slower")
    assert wrong / trials < 0.065


def test_less_is_better_turns_the_ratio_round():
    faster = stats.paired_ratio([1.0] * 7, [2.0] * 7, higher_is_better=False)
    assert faster.estimate == pytest.approx(2) and faster.verdict == "faster"


def test_small_differences_are_the_same():
    assert stats.paired_ratio([1.01] * 7, [1.0] * 7).verdict == "the same"


def test_one_outlier_does_not_decide():
    ratio = stats.paired_ratio([1.5, 1.6, 1.5, 1.4, 1.5, 1.6, 0.001], [1.0] * 7)
    assert 1.3 < ratio.estimate < 1.6


def test_starved_baseline_is_infinitely_worse():
    ratio = stats.paired_ratio([100.0] * 7, [0.0] * 7)
    assert ratio.estimate == math.inf and ratio.verdict == "faster"
    both = stats.paired_ratio([0.0] * 7, [0.0] * 7)
    assert both.estimate == 1 and both.verdict == "the same"
    mixed = stats.paired_ratio([0.0, 5.0] * 4, [5.0, 0.0] * 4)
    assert mixed.verdict == "can't tell" and not math.isnan(mixed.estimate)


def test_nothing_below_the_noise_floor_is_a_difference():
    ratio = stats.paired_ratio([1.1] * 7, [1.0] * 7)
    assert ratio.verdict == "faster"
    assert ratio.with_noise(1.05).verdict == "faster"
    assert ratio.with_noise(1.15).verdict == "can't tell" and ratio.with_noise(1.15).hidden
    worse = stats.paired_ratio([1.0] * 7, [1.1] * 7)
    assert worse.with_noise(1.05).verdict == "slower" and worse.with_noise(1.15).verdict == "can't tell"
    # Where 10 % may be noise, "the same within 3 %" cannot be seen either.
    assert stats.paired_ratio([1.01] * 7, [1.0] * 7).with_noise(1.1).verdict == "can't tell"


def test_noise_floor_is_the_farther_end_of_the_interval_of_equals():
    first, second = [1.0, 1.1, 0.9, 1.0, 1.2, 1.0, 0.95], [1.0] * 7
    ratio = stats.paired_ratio(first, second)
    assert stats.noise_of(first, second).floor == pytest.approx(ratio.high)
    assert stats.noise_of(second, first).floor == pytest.approx(ratio.high)
    assert stats.noise_of(first[:5], second[:5]).floor is None
    assert stats.noise_of([], []) is None


def test_noise_of_a_starved_side_is_finite():
    """Now 0, now a few writes a second: noisy, but 4000 a second is still another thing."""
    noise = stats.noise_of([0.0, 3, 0, 1, 0, 7, 0], [2.0, 0, 0, 0, 5, 0, 1])
    assert 1 < noise.floor < 10
    assert stats.noise_of([0.0] * 7, [0.0] * 7).floor == 1
    fed = stats.paired_ratio([4000.0] * 7, [0.0, 3, 0, 1, 0, 7, 0]).with_noise(noise.floor)
    assert fed.verdict == "faster"


def test_width_is_the_farther_end_from_the_estimate():
    ratio = stats.Ratio(7, 2.0, 1.6, 2.2)
    assert ratio.width == pytest.approx(0.25)
    assert stats.Ratio(5, 2.0, 1.9, 2.1).width == math.inf
    assert stats.Ratio(7, 2.0, 0.0, 2.2).width == math.inf
    assert math.isnan(stats.Ratio(7, math.inf, math.inf, math.inf).width)


def test_spread():
    spread = stats.Spread.of([3.0, 1.0, 2.0, 100.0])
    assert (spread.n, spread.median, spread.low, spread.high) == (4, 2.5, 1, 100)
    assert stats.Spread.of([]) is None
