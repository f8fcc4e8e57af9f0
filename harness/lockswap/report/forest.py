"""Ratios with their intervals, a line each, on a logarithmic axis: a forest plot."""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from lockswap.base.text import SYMBOL, factor
from lockswap.findings.effects import short
from lockswap.findings.measures import MetricInfo
from lockswap.findings.stats import Ratio
from lockswap.report.axes import reach
from lockswap.report.marks import mark
from lockswap.report.palette import BAND, INK, MUTED, LockStyle

# Ratios beyond this are drawn at the edge, with an arrow.
_FARTHEST = 64.0
_TITLE = 34  # characters of a line: it begins behind the names of the locks
_NARROWEST = 1.3  # the axis reaches at least so far to both sides


@dataclass(frozen=True)
class ForestLine:
    """One ratio; without one, `note` says why."""

    label: str
    lock: str
    style: LockStyle
    ratio: Ratio | None
    note: str = ""
    rounds: Sequence[float] = field(default=())  # the ratios of single rounds
    hollow: bool = False
    metric: MetricInfo | None = None  # whose words say the estimate


@dataclass(frozen=True)
class ForestGroup:
    """Lines under a heading; `noise` is the noise floor, above 1."""

    label: str
    lines: list[ForestLine]
    noise: float | None = None


def height(groups: list[ForestGroup]) -> float:
    """In inches, with a title of two lines."""
    return 0.27 * sum(len(group.lines) for group in groups) + 0.33 * len(groups) + 1.2


def draw(axis: Axes, groups: list[ForestGroup], title: str, sides: tuple[str, str] = ("worse", "better")) -> None:
    """What lies beyond the axis has an arrow at its edge; its value stands at the end of each line."""
    low, high = _reach(groups)
    axis.set_xscale("log", base=2)
    axis.axvline(1, color=MUTED, linewidth=1.2, zorder=1.5)
    y, labels = 0.0, []
    for group in groups:
        axis.annotate(
            group.label,
            (0, y),
            xycoords=("axes fraction", "data"),
            xytext=(-4, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontweight="bold",
        )
        y += 1
        if group.noise:
            axis.fill_betweenx(
                [y - 0.5, y + len(group.lines) - 0.5],
                max(1 / group.noise, low),
                min(group.noise, high),
                color=BAND,
                linewidth=0,
                zorder=1,
            )
        for line in group.lines:
            _draw_line(axis, line, y, low, high)
            labels.append((y, line.label))
            y += 1
        y += 0.35
    axis.set_ylim(y - 0.75, -0.6)
    axis.set_yticks([place for place, _ in labels], [label for _, label in labels])
    axis.set_xlim(low, high)
    axis.xaxis.set_major_locator(FixedLocator(_ticks(low, high)))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{factor(x):.3g}×"))
    axis.grid(visible=False, axis="y")
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)
    axis.set_title(textwrap.fill(title, _TITLE))
    for text, side, shift in ((f"← {sides[0]}", "right", -7), (f"{sides[1]} →", "left", 7)):
        axis.annotate(
            text, (1, 0), xycoords=("data", "axes fraction"), xytext=(shift, -21), textcoords="offset points", ha=side,
            va="top", color=MUTED,
        )  # fmt: skip


def _reach(groups: list[ForestGroup]) -> tuple[float, float]:
    ratios = [line.ratio for group in groups for line in group.lines if line.ratio]
    farthest = min(reach(ratios, _NARROWEST), _FARTHEST)
    ends = [1 / _NARROWEST, _NARROWEST]
    for ratio in ratios:
        ends += [ratio.low, ratio.estimate, ratio.high]
    ends = [min(max(value, 1 / farthest), farthest) for value in ends]
    return min(ends) / 1.12, max(ends) * 1.12


def _draw_line(axis: Axes, line: ForestLine, y: float, low: float, high: float) -> None:
    def note(text: str, bold: bool) -> None:
        axis.annotate(
            text,
            (1, y),
            xycoords=("axes fraction", "data"),
            xytext=(9, 0),
            textcoords="offset points",
            va="center",
            color=INK if bold else MUTED,
            fontweight="bold" if bold else "normal",
        )

    ratio = line.ratio
    if ratio is None:
        note(line.note, False)
        return

    def place(value: float) -> float:
        return min(max(value, low), high)

    inside = [value for value in line.rounds if low < value < high]
    points = axis.plot(
        inside, [y + 0.27] * len(inside), linestyle="none", marker="o", markersize=3.2, color=line.style.color,
        alpha=0.4, markeredgewidth=0, zorder=2,
    )  # fmt: skip
    bar = axis.plot(
        [place(ratio.low), place(ratio.high)], [y, y], color=line.style.color, linewidth=2.2, solid_capstyle="round",
        alpha=1 if ratio.trusted else 0.35, zorder=2.5,
    )  # fmt: skip
    beyond = ">" if ratio.estimate > high else "<" if ratio.estimate < low else None
    head = axis.plot(
        [place(ratio.estimate)], [y], marker=beyond or line.style.marker, color=line.style.color, markersize=6.5,
        linestyle="none", markeredgewidth=1.3 if line.hollow else 0.6, clip_on=False, zorder=3,
    )  # fmt: skip
    if line.hollow:
        head[0].set_markerfacecolor(axis.get_facecolor())
    arrows = [
        artist
        for edge, sign, outside in (
            (low, "<", any(value <= low for value in line.rounds)),
            (high, ">", any(value >= high for value in line.rounds)),
        )
        if outside and not beyond
        for artist in axis.plot(
            [edge], [y + 0.27], marker=sign, color=line.style.color, markersize=4, linestyle="none", clip_on=False,
        )
    ]  # fmt: skip
    for artist in (*points, *bar, *head, *arrows):
        mark(artist, line.lock)
    note(f"{SYMBOL[ratio.verdict]} {short(line.metric, ratio.estimate)}", ratio.verdict in ("faster", "slower"))


def _ticks(low: float, high: float) -> list[float]:
    """Few, round ticks: powers of two on wide axes, tenths on narrow ones."""
    if high / low > 3.5:
        powers = [2.0**power for power in range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)]
        every = 3 if len(powers) > 9 else 2 if len(powers) > 6 else 1
        return [tick for tick in powers if math.log2(tick) % every == 0]
    chosen = (1.1, 1.2, 1.4, 1.6, 1.8) if high / low < 1.9 else (1.25, 1.5, 2.0, 2.5, 3.0)
    return [tick for tick in (*(1 / far for far in reversed(chosen)), 1.0, *chosen) if low <= tick <= high]
