"""How good the harness's statistics are, by simulation: docs/measuring.md rests on it.

usage: PYTHONPATH=harness build/venv/bin/python tools/simulate_statistics.py [intervals | claims] [--trials N]

intervals: of each way to make a 95 % interval of paired ratios that scipy has, how often it holds the true ratio and
how wide it is, for 6 to 31 rounds and several kinds of noise. claims: how often a difference is claimed between equals,
and between a lock and one that is 5 or 20 % slower, after 7 rounds, 31 rounds, and with --until 5%.
"""

import argparse
import math
import warnings
from collections.abc import Callable

import numpy as np
from scipy import stats as scipy_stats

from lockswap.findings.stats import FASTER, SLOWER, noise_of, paired_ratio, signed_rank_rank

ROUNDS = (6, 7, 9, 12, 16, 21, 31)
INFINITE = 1e6
dice = np.random.default_rng(1)


def normal(size: tuple[int, int], spread: float) -> np.ndarray:
    return dice.normal(0, spread, size)


def bursts(size: tuple[int, int]) -> np.ndarray:
    """Now and then a run is much slower."""
    return normal(size, 0.03) - (dice.random(size) < 0.15) * dice.exponential(0.5, size)


def drift(size: tuple[int, int]) -> np.ndarray:
    """The machine wanders; the two runs of a round follow each other, in either order."""
    walk = np.cumsum(dice.normal(0, 0.05, (size[0], 2 * size[1])), axis=1)
    return (walk[:, 0::2] - walk[:, 1::2]) * dice.choice([-1, 1], size) + normal(size, 0.03)


def zeros(size: tuple[int, int]) -> np.ndarray:
    """Both sides nearly starved: none or a few a second."""
    mine, base = dice.poisson(1.0, size), dice.poisson(1.0, size)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(mine / base)
    logs[(mine == 0) & (base == 0)] = 0
    return np.clip(logs, -INFINITE, INFINITE)


# Logarithms of the ratios of equals, a row a campaign.
NOISE: dict[str, Callable[[tuple[int, int]], np.ndarray]] = {
    "normal": lambda size: normal(size, 0.1) - normal(size, 0.1),
    "heavy tails": lambda size: 0.1 * (dice.standard_t(2, size) - dice.standard_t(2, size)),
    "bursts": lambda size: bursts(size) - bursts(size),
    "drift": drift,
    "two heaps": lambda size: 0.2 * (dice.integers(0, 2, size) - dice.integers(0, 2, size)) + normal(size, 0.03),
    "ties": lambda size: np.round((normal(size, 0.05) - normal(size, 0.05)) / 0.04) * 0.04,
    "zeros": zeros,
}


def signed_rank(logs: np.ndarray) -> np.ndarray:
    """As lockswap.stats.paired_ratio() has it."""
    first, second = np.triu_indices(logs.shape[1])
    walsh = np.sort((logs[:, first] + logs[:, second]) / 2, axis=1)
    rank = signed_rank_rank(logs.shape[1])
    return walsh[:, [rank, -1 - rank]]


def each(interval: Callable) -> Callable[[np.ndarray], np.ndarray]:
    return lambda logs: np.array([tuple(interval(row)) for row in logs])


def sign(row: np.ndarray) -> tuple[float, float]:
    return scipy_stats.quantile_test(row, q=0, p=0.5).confidence_interval(0.95)


def bootstrap(method: str) -> Callable:
    def interval(row: np.ndarray) -> tuple[float, float]:
        if np.ptp(row) == 0:
            return row[0], row[0]
        return scipy_stats.bootstrap((row,), np.median, n_resamples=999, method=method, rng=dice).confidence_interval

    return each(interval)


INTERVALS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "wilcoxon, inverted": signed_rank,
    "quantile_test": each(sign),
    "ttest_1samp": each(lambda row: scipy_stats.ttest_1samp(row, 0).confidence_interval(0.95)),
    "mstats.median_cihs": each(lambda row: scipy_stats.mstats.median_cihs(row, 0.05)),
    "bootstrap percentile": bootstrap("percentile"),
    "bootstrap BCa": bootstrap("BCa"),
}


def intervals(trials: int) -> None:
    print("covers % / half width in %, with", ", ".join(map(str, ROUNDS)), "rounds")
    for name, interval in INTERVALS.items():
        for kind, noise in NOISE.items():
            cells = []
            for rounds in ROUNDS:
                found = interval(noise((trials // 10 if "bootstrap" in name else trials, rounds)))
                covers = 100 * np.mean((found[:, 0] <= 0) & (found[:, 1] >= 0))
                half = 100 * np.median(found[:, 1] - found[:, 0]) / 2
                cells.append(f"{covers:.0f} / {half:.1f}" if half < 1e4 else f"{covers:.0f} / inf")
            print(f"| {name} | {kind} | {' | '.join(cells)} |", flush=True)


def claim(logs: np.ndarray, equals: np.ndarray | None) -> str:
    ratio = paired_ratio(np.exp(logs), np.ones(len(logs)))
    if equals is not None:
        ratio = ratio.with_noise(noise_of(np.exp(equals), np.ones(len(equals))).floor)
    return ratio.verdict


def rounds_until(logs: np.ndarray, share: float) -> int:
    """After how many rounds both intervals are narrow enough, the lock's and that of equals; all if they never are."""
    most = logs.shape[1]
    for rounds in range(7, most):
        if all(paired_ratio(np.exp(row[:rounds]), np.ones(rounds)).width <= share for row in logs):
            return rounds
    return most


def claims(trials: int) -> None:
    most = 100
    print("claimed % of campaigns: slower, faster; without and with the noise floor; rounds (median)")
    for spread in (0.05, 0.1):
        for kind in ("normal", "heavy tails", "bursts", "drift"):
            scale = spread / 0.1
            for slower in (0, 5, 20):
                for plan in ("7", "31", "until 5%"):
                    found, made = [], []
                    for _ in range(trials):
                        logs = NOISE[kind]((2, most)) * scale
                        logs[0] -= math.log(1 + slower / 100)
                        rounds = int(plan) if plan.isdigit() else rounds_until(logs, 0.05)
                        made.append(rounds)
                        mine, equals = logs[0][:rounds], logs[1][:rounds]
                        found.append((claim(mine, None), claim(mine, equals)))
                    shares = [
                        f"{100 * np.mean([pair[floor] == verdict for pair in found]):.1f}"
                        for floor in (0, 1)
                        for verdict in (SLOWER, FASTER)
                    ]
                    print(
                        f"| {kind}, {spread:.0%} | {slower} % | {plan} | {shares[0]}, {shares[1]} | "
                        f"{shares[2]}, {shares[3]} | {np.median(made):.0f} |",
                        flush=True,
                    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", help="intervals, claims (default: both)")
    parser.add_argument("--trials", type=int, default=1000)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, part in {"intervals": intervals, "claims": claims}.items():
        if not arguments.what or name in arguments.what:
            part(arguments.trials)


if __name__ == "__main__":
    main()
