"""Locks by what the program pays for longer holds, in words and as data."""

from dataclasses import asdict, dataclass

from lockswap.advise.trial import Metric
from lockswap.base.columns import aligned, terminal_width
from lockswap.findings import stats
from lockswap.whatif.delayed import Delayed


@dataclass(frozen=True)
class Rank:
    lock: Delayed
    share: stats.Shift  # of the metric, percent: what the holds as they are cost
    percent: stats.Shift  # of the metric, by a microsecond more in each hold
    inside: stats.Shift  # the same of the delays in holds, and of those behind them, to runs without
    behind: stats.Shift
    paid: stats.Shift | None  # seconds of the run, by a second that all holds together get longer
    is_apart: bool  # from the one that follows

    @property
    def is_shown(self) -> bool:
        return self.share.low > 0


def rank(locks: list[Delayed], base: list[float], metric: Metric) -> list[Rank]:
    usual = stats.Spread.of(base)
    assert usual is not None
    of_usual = 100 / usual.median if usual.median else float("nan")
    rate = metric.higher_is_better
    found = [(one.matters(rate), one) for one in locks]
    found.sort(key=lambda pair: -pair[0].estimate)
    return [
        Rank(
            one,
            share.times(of_usual),
            one.cost(rate).times(of_usual),
            one.cost_to(base, False, rate).times(of_usual),
            one.cost_to(base, True, rate).times(of_usual),
            one.cost(rate).times(1e6 / one.holds) if metric.pattern is None else None,
            place == len(found) or share.is_apart_from(found[place][0]),
        )
        for place, (share, one) in enumerate(found, 1)
    ]


def shown(ranks: list[Rank], missed: list[Delayed], base: list[float], metric: Metric) -> str:
    usual = stats.Spread.of(base)
    assert usual is not None
    unit = " s" if metric.pattern is None else ""
    lines = [f"Without a delay {metric.name} is {usual.median:.4g}{unit} (median of {usual.n} runs).", ""]
    if ranks:
        head = ("rank", "lock", "its holds cost", "95 %", "1 us more in each", "holds", "mean", "delays tried")
        lines += aligned([head, *(_row(place, one) for place, one in enumerate(ranks, 1))], terminal_width())
        lines += ["", *(_sentence(place, ranks, metric) for place in range(len(ranks)))]
    lines += [f"{one.title}: no hold of it was seen by the rule '{one.rule}', so nothing is known." for one in missed]
    return "\n".join(lines)


def _row(place: int, one: Rank) -> tuple[str, ...]:
    us = " and ".join(_us(ns / 1000) for ns in one.lock.delays_ns)
    return (
        f"{place}.",
        one.lock.title,
        f"{_whole(one.share.estimate)} %",
        f"{_whole(one.share.low)} to {_whole(one.share.high)} %",
        f"{_signed(one.percent.estimate)} % ({_signed(one.percent.low)} to {_signed(one.percent.high)})",
        f"{one.lock.holds:,}",
        f"{_us(one.lock.hold_us)} us",
        f"{us} us",
    )


def _whole(percent: float) -> str:
    return f"{percent:.1f}" if abs(percent) < 100 else f"{percent:,.0f}"


def _signed(percent: float) -> str:
    return f"{percent:+.2g}" if abs(percent) < 99.5 else f"{percent:+,.0f}"


def _us(us: float) -> str:
    return f"{us:,.0f}" if us >= 100 else f"{us:.3g}"


def _sentence(place: int, ranks: list[Rank], metric: Metric) -> str:
    one = ranks[place]
    what = f"{one.lock.title}: "
    if one.share.low > 100:
        what += (
            f"its holds decide {metric.name}: their estimated cost is more than 100 %, so it can't be read as a share."
        )
        what += " Try other locks: 'lockswap compare'."
    elif one.is_shown:
        what += f"about {one.share.estimate:.1f} % of {metric.name} depends on how long its holds are."
        what += " Work that is moved out of them is still to be done, so moving it gains less than that."
    elif one.percent.high < 0:
        what += "longer holds cost less than the same time behind them."
    else:
        what += f"no cost is shown, and at most {one.share.high:.1f} %; shorter holds may gain nothing."
    if one.paid is not None:
        what += f" Of a second more in its holds the program pays {_seconds(one.paid)}."
    if not one.is_apart:
        what += f" Whether it matters more than {ranks[place + 1].lock.title} is not shown: their intervals overlap."
    return what


def _seconds(paid: stats.Shift) -> str:
    return f"{paid.estimate:.2f} s (95 %: {paid.low:.2f} to {paid.high:.2f})"


def as_data(ranks: list[Rank], missed: list[Delayed], base: list[float], metric: Metric) -> dict:
    usual = stats.Spread.of(base)
    return {
        "metric": metric.pattern.pattern if metric.pattern else "seconds",
        "higher_is_better": metric.higher_is_better,
        "rounds": len(base),
        "without_delay": asdict(usual) if usual else None,
        "locks": [
            {
                "rank": place,
                "lock": one.lock.title,
                "rule": one.lock.rule,
                "holds": one.lock.holds,
                "delays_ns": list(one.lock.delays_ns),
                "hold_us": one.lock.hold_us,
                "percent_of_metric": asdict(one.share),
                "percent_worse_per_us": asdict(one.percent),
                "percent_worse_per_us_inside": asdict(one.inside),
                "percent_worse_per_us_behind": asdict(one.behind),
                "paid_of_added_time": asdict(one.paid) if one.paid else None,
                "cost_is_shown": one.is_shown,
                "apart_from_next": one.is_apart,
            }
            for place, one in enumerate(ranks, 1)
        ],
        "not_seen": [{"lock": one.title, "rule": one.rule} for one in missed],
    }
