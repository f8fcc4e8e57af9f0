"""The interval maths, against independent calculations."""

import itertools
import math
import random

import pytest
from scipy import stats as scipy_stats

from lockswap import stats


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


@pytest.mark.parametrize("n", range(1, 13))
def test_interval_covers_what_it_says(n):
    assert stats.coverage(n) == pytest.approx(exact_coverage(n, stats.signed_rank_rank(n)))


@pytest.mark.parametrize("n", range(stats.MIN_PAIRS, 13))
def test_interval_covers_95_percent_and_no_narrower_one_does(n):
    rank = stats.signed_rank_rank(n)
    assert stats.coverage(n) >= 0.95
    assert exact_coverage(n, rank + 1) < 0.95


def test_fewer_pairs_cannot_reach_95_percent():
    assert stats.coverage(stats.MIN_PAIRS - 1) < 0.95
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


def test_spread():
    spread = stats.Spread.of([3.0, 1.0, 2.0, 100.0])
    assert (spread.n, spread.median, spread.low, spread.high) == (4, 2.5, 1, 100)
    assert stats.Spread.of([]) is None
