"""The plots: the same figure as PNG and SVG files, and as SVG whose colours follow the page's theme."""

import io
import math
import re
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no display is needed

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from lockswap.registry import NONE, PTHREAD
from lockswap.stats import Spread
from lockswap.summary import Cell, MetricInfo, Workload
from lockswap.text import plural, tick, times

# Each colour of the light theme has a CSS variable; the page replaces one by the other (see themed()).
INK, MUTED, GRID, PAPER = "#1b1f24", "#667080", "#e4e7eb", "#ffffff"
_BY_NAME = {
    NONE: "#8b929c",
    PTHREAD: "#3c434d",
    "ba": "#0b6bcb",
    "bravo-ba": "#d9480f",
    "pf-t": "#0f8a5f",
    "bravo-pf-t": "#9333c7",
    "bravo-pthread": "#a87408",
}
_OTHERS = ("#c2255c", "#0c8599", "#5f3dc4", "#2b8a3e", "#864a1c", "#4a5568")
_MARKERS = {NONE: "x", PTHREAD: "s", "ba": "o", "bravo-ba": "^", "pf-t": "D", "bravo-pf-t": "v", "bravo-pthread": "P"}
_OTHER_MARKERS = ("p", "*", "h", "<", ">", "d")

# For the page: variable -> (light, dark).
THEME = {
    "ink": (INK, "#e6e9ee"),
    "muted": (MUTED, "#9aa4b2"),
    "grid": (GRID, "#2c333d"),
    "paper": (PAPER, "#14181d"),
    "lock-none": (_BY_NAME[NONE], "#7d8794"),
    "lock-pthread": (_BY_NAME[PTHREAD], "#d3d8df"),
    "lock-ba": (_BY_NAME["ba"], "#62aefc"),
    "lock-bravo-ba": (_BY_NAME["bravo-ba"], "#ff9360"),
    "lock-pf-t": (_BY_NAME["pf-t"], "#46cf9b"),
    "lock-bravo-pf-t": (_BY_NAME["bravo-pf-t"], "#cb95ff"),
    "lock-bravo-pthread": (_BY_NAME["bravo-pthread"], "#e5bd45"),
    **{
        f"lock-other-{index}": pair
        for index, pair in enumerate(
            zip(_OTHERS, ("#ff86ad", "#3bc9db", "#b197fc", "#69db7c", "#d9a066", "#a0aec0"), strict=True)
        )
    },
}

_STYLE = {
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.titlepad": 10,
    "axes.labelsize": 9.5,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "text.color": INK,
    "font.size": 9.5,
    "font.family": "DejaVu Sans",
    "legend.frameon": False,
    "figure.constrained_layout.w_pad": 0.1,
    "figure.constrained_layout.h_pad": 0.1,
    "svg.fonttype": "none",  # text stays text: selectable, small
    "svg.hashsalt": "lockswap",  # the same data gives the same file
}


@dataclass(frozen=True)
class Look:
    color: str
    marker: str
    dash: str


def looks(locks: list[str]) -> dict[str, Look]:
    """A lock of ours looks the same in every report; others get what is left, in order."""
    found, other = {}, 0
    for lock in locks:
        if lock in _BY_NAME:
            found[lock] = Look(_BY_NAME[lock], _MARKERS[lock], "--" if lock == NONE else "-")
        else:
            index = other % len(_OTHERS)
            found[lock] = Look(_OTHERS[index], _OTHER_MARKERS[index], "-")
            other += 1
    return found


@dataclass(frozen=True)
class Plot:
    """One figure in all its forms."""

    name: str
    title: str
    alt: str
    svg: str
    png: bytes

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.name}.svg").write_text(self.svg, encoding="utf-8")
        (folder / f"{self.name}.png").write_bytes(self.png)

    def themed(self) -> str:
        """The SVG for the page: no XML head, colours as variables, ids that are unique in the page."""
        svg = self.svg[self.svg.index("<svg") :]
        svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
        for name, (light, _) in THEME.items():
            svg = svg.replace(light, f"var(--{name})")
        svg = re.sub(r'\bid="([^"]+)"', rf'id="{self.name}-\1"', svg)
        svg = re.sub(r'(xlink:href="|url\()#', rf"\g<1>#{self.name}-", svg)
        # The page sets the size; the view box keeps the proportions.
        svg = re.sub(r'(<svg[^>]*?) width="[^"]+"', r"\1", svg, count=1)
        svg = re.sub(r'(<svg[^>]*?) height="[^"]+"', r"\1", svg, count=1)
        return svg.replace("<svg ", f'<svg role="img" aria-label="{self.alt}" ', 1)


def of(workload: Workload) -> list[Plot]:
    """All plots of one workload; none if nothing was measured."""
    if not workload.measured():
        return []
    with matplotlib.rc_context(_STYLE):
        return [_throughput(workload), _ratios(workload), _resources(workload)]


def _finish(figure: Figure, workload: Workload, kind: str, title: str, alt: str) -> Plot:
    svg, png = io.StringIO(), io.BytesIO()
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # once is enough, and the same for both forms
    figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    figure.savefig(png, format="png", dpi=160)
    plt.close(figure)
    return Plot(f"{workload.name}-{kind}", title, alt.replace('"', "'"), svg.getvalue(), png.getvalue())


def _throughput(workload: Workload) -> Plot:
    metrics = workload.metrics
    columns = min(2, len(metrics))
    rows = math.ceil(len(metrics) / columns)
    figure, axes = plt.subplots(rows, columns, figsize=(9.2, 3.3 * rows), squeeze=False, layout="constrained")
    look = looks(workload.locks)
    for axis, metric in zip(axes.flat, metrics, strict=False):
        _against_threads(axis, workload, look, lambda cell, m=metric: cell.metric(m.name))
        better = "more is better" if metric.higher_is_better else "less is better"
        low, high = _reach(workload, metric)
        # Times and latencies may differ so much that the smaller ones would vanish on a linear axis.
        if not metric.higher_is_better and 0 < 30 * low < high:
            axis.set_ylim(low / 1.5, high * 1.5)
            axis.set_yscale("log")
            axis.yaxis.set_minor_locator(NullLocator())
            axis.yaxis.set_major_locator(LogLocator())
            axis.yaxis.set_major_formatter(FuncFormatter(lambda y, _: tick(y)))
            better += ", logarithmic"
        axis.set_title(f"{metric.name} [{metric.unit}], {better}" if metric.unit else f"{metric.name}, {better}")
        _mark_failures(axis, workload, look, metric)
    for axis in list(axes.flat)[len(metrics) :]:
        axis.set_visible(False)
    _legend(figure, workload, look)
    return _finish(
        figure,
        workload,
        "throughput",
        "Median of the runs; the bars reach from the smallest to the largest",
        f"{workload.info['title']}: {', '.join(m.name for m in metrics)} against threads, a line for each lock",
    )


def _reach(workload: Workload, metric: MetricInfo) -> tuple[float, float]:
    """The smallest and the largest value of all cells."""
    spreads = [spread for cell in workload.cells.values() if (spread := cell.metric(metric.name))]
    return min((spread.low for spread in spreads), default=0), max((spread.high for spread in spreads), default=0)


def _resources(workload: Workload) -> Plot:
    figure, axes = plt.subplots(1, 3, figsize=(9.2, 3.0), layout="constrained")
    look = looks(workload.locks)

    def per_second(cell: Cell) -> Spread | None:
        rows = [row.numbers for row in cell.used]
        return Spread.of(
            [n["context_switches"] / n["wall_s"] for n in rows if "context_switches" in n and n.get("wall_s")]
        )

    def megabytes(cell: Cell) -> Spread | None:
        return Spread.of([row.numbers["max_rss_kb"] / 1024 for row in cell.used if "max_rss_kb" in row.numbers])

    for axis, title, value in (
        (axes[0], "CPU seconds of a run", lambda cell: cell.usage("cpu_s")),
        (axes[1], "context switches [1/s]", per_second),
        (axes[2], "peak memory [MB]", megabytes),
    ):
        _against_threads(axis, workload, look, value)
        axis.set_title(title)
    _legend(figure, workload, look)
    return _finish(
        figure,
        workload,
        "resources",
        "What the runs cost",
        f"{workload.info['title']}: CPU seconds, context switches and memory against threads, a line for each lock",
    )


def _against_threads(axis: Axes, workload: Workload, look: dict[str, Look], value) -> None:
    """A line a lock; thread counts evenly spaced, locks side by side so that their bars do not overlap."""
    locks, threads = workload.locks, workload.threads
    single = len(threads) == 1
    drawn: list[Spread] = []
    step = (0.6 if single else 0.34) / max(1, len(locks) - 1)
    for index, lock in enumerate(locks):
        shift = (index - (len(locks) - 1) / 2) * step
        points = []
        for place, count in enumerate(threads):
            cell = workload.cell(count, lock)
            spread = value(cell) if cell and cell.used else None
            if spread:
                points.append((place + shift, spread))
        if not points:
            continue
        drawn += [spread for _, spread in points]
        xs = [x for x, _ in points]
        medians = [spread.median for _, spread in points]
        below = [spread.median - spread.low for _, spread in points]
        above = [spread.high - spread.median for _, spread in points]
        style = look[lock]
        axis.errorbar(
            xs,
            medians,
            yerr=[below, above],
            color=style.color,
            ecolor=style.color,
            elinewidth=1.3,
            capsize=0,
            linestyle="none" if single else style.dash,
            linewidth=1.5,
            marker=style.marker,
            markersize=5,
            markeredgewidth=1.4 if style.marker == "x" else 0.6,
            zorder=3 if lock not in (NONE, PTHREAD) else 2.5,
        )
    if single:
        # Nothing to draw a line along: the locks themselves are the axis.
        places = [(index - (len(locks) - 1) / 2) * step for index in range(len(locks))]
        axis.set_xticks(places, locks, rotation=30, ha="right", rotation_mode="anchor")
        axis.set_xlim(-0.4, 0.4)
        axis.set_xlabel(f"{threads[0]} {workload.info['threads_label']}")
    else:
        axis.set_xticks(range(len(threads)), [str(count) for count in threads])
        axis.set_xlim(-0.5, len(threads) - 0.5)
        axis.set_xlabel(workload.info["threads_label"])
    axis.grid(visible=False, axis="x")
    axis.set_ylim(0, 1.1 * max([spread.high for spread in drawn], default=0) or 1)
    axis.yaxis.set_major_locator(MaxNLocator(nbins=5))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda y, _: tick(y)))


def _mark_failures(axis: Axes, workload: Workload, look: dict[str, Look], metric: MetricInfo) -> None:
    """A combination without a single good run gets a mark on the axis instead of a hole."""
    locks = workload.locks
    step = (0.6 if len(workload.threads) == 1 else 0.34) / max(1, len(locks) - 1)
    marked = False
    for index, lock in enumerate(locks):
        for place, threads in enumerate(workload.threads):
            cell = workload.cell(threads, lock)
            if cell and cell.rows and not cell.metric(metric.name):
                axis.annotate(
                    "✗",
                    (place + (index - (len(locks) - 1) / 2) * step, 0),
                    xycoords=("data", "axes fraction"),
                    xytext=(0, 3),
                    textcoords="offset points",
                    ha="center",
                    va="bottom",
                    fontsize=11,
                    color=look[lock].color,
                    fontweight="bold",
                    annotation_clip=False,
                )
                marked = True
    if marked:
        axis.annotate(
            "✗ no good run, see the table",
            (1, 1),
            xycoords="axes fraction",
            ha="right",
            va="bottom",
            fontsize=8,
            color=MUTED,
        )


def _legend(figure: Figure, workload: Workload, look: dict[str, Look]) -> None:
    if len(workload.threads) == 1:
        return  # the axis names the locks
    handles = [
        plt.Line2D(
            [],
            [],
            color=look[lock].color,
            marker=look[lock].marker,
            linestyle=look[lock].dash,
            linewidth=1.5,
            markersize=5,
            label={NONE: "none (no preload)", PTHREAD: "pthread (glibc)"}.get(lock, lock),
        )
        for lock in workload.locks
    ]
    figure.legend(
        handles=handles, loc="outside upper left", ncols=min(7, len(handles)), columnspacing=1.4, handlelength=2
    )


# Ratios beyond this are drawn at the edge, with an arrow.
_FARTHEST = 64.0


def _ratios(workload: Workload) -> Plot:
    """A line a thread count and lock: estimate and interval, on a logarithmic axis."""
    locks = [lock for lock in workload.locks if lock != PTHREAD]
    lines = [(threads, lock) for threads in workload.threads for lock in locks]
    metrics = workload.metrics
    height = 0.25 * len(lines) + 0.16 * len(workload.threads) + 1.2
    columns = min(2, len(metrics))
    rows = math.ceil(len(metrics) / columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(9.2, height * rows), squeeze=False, layout="constrained", sharey=True
    )
    look = looks(workload.locks)
    places = {}
    y = 0.0
    for threads in workload.threads:
        for lock in locks:
            places[threads, lock] = y
            y += 1
        y += 0.7
    for axis in list(axes.flat)[len(metrics) :]:
        axis.set_visible(False)
    for axis, metric in zip(axes.flat, metrics, strict=False):
        _forest(axis, workload, metric, places, look)
    for first in axes[:, 0]:
        _name_lines(first, workload.threads, places, look)
    axes[0][0].set_ylim(y - 0.9, -1.0)
    return _finish(
        figure,
        workload,
        "ratio",
        "Against pthread in the same round, with the 95 % interval; right of 1 is better",
        f"{workload.info['title']}: ratio of each lock to pthread with its interval",
    )


def _name_lines(axis: Axes, counts: list[int], places: dict, look: dict[str, Look]) -> None:
    axis.set_yticks(list(places.values()), [lock for _, lock in places])
    for label, (_, lock) in zip(axis.get_yticklabels(), places, strict=True):
        label.set_color(look[lock].color)
    for threads in counts:
        top = min(y for (count, _), y in places.items() if count == threads)
        axis.annotate(
            plural(threads, "thread"),
            (0, top - 0.45),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            va="bottom",
            fontsize=8,
            color=MUTED,
        )


def _forest(axis: Axes, workload: Workload, metric: MetricInfo, places: dict, look: dict[str, Look]) -> None:
    ratios = {key: workload.ratio(*key, metric) for key in places}
    finite = [
        min(max(value, 1 / _FARTHEST), _FARTHEST)
        for ratio in ratios.values()
        if ratio
        for value in (ratio.low, ratio.estimate, ratio.high)
    ]
    low, high = min([*finite, 0.8]) / 1.12, max([*finite, 1.25]) * 1.12

    def place(value: float) -> float:
        return min(max(value, low), high)

    axis.set_xscale("log", base=2)
    axis.axvline(1, color=MUTED, linewidth=1.2, zorder=1)
    for key, y in places.items():
        ratio, style = ratios[key], look[key[1]]
        if ratio is None:
            cell = workload.cell(*key)
            text = "not measured" if cell and cell.rows else "–"
            axis.annotate(text, (1, y), xytext=(6, 0), textcoords="offset points", va="center", fontsize=8, color=MUTED)
            continue
        axis.plot(
            [place(ratio.low), place(ratio.high)], [y, y], color=style.color, linewidth=2.2, solid_capstyle="round"
        )
        marker = ">" if ratio.estimate > high else "<" if ratio.estimate < low else style.marker
        axis.plot(
            [place(ratio.estimate)],
            [y],
            marker=marker,
            color=style.color,
            markersize=6,
            linestyle="none",
            markeredgewidth=1.5 if marker == "x" else 0.6,
            clip_on=False,
        )
        axis.annotate(
            times(ratio.estimate),
            (1, y),
            xycoords=("axes fraction", "data"),
            xytext=(9, 0),
            textcoords="offset points",
            va="center",
            ha="left",
            fontsize=8.5,
            color=INK if ratio.verdict in ("faster", "slower") else MUTED,
            fontweight="bold" if ratio.verdict in ("faster", "slower") else "normal",
        )
    axis.set_xlim(low, high)
    axis.xaxis.set_major_locator(_ratio_ticks(low, high))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}×"))
    axis.grid(visible=False, axis="y")
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)
    axis.set_title(f"{metric.name}: ratio to pthread")
    axis.set_xlabel("worse  ←  1×  →  better")


def _ratio_ticks(low: float, high: float):
    """Few, round ticks: powers of two on wide axes, tenths on narrow ones."""
    from matplotlib.ticker import FixedLocator

    if high / low > 3:
        powers = range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)
        ticks = [2.0**power for power in powers]
        if len(ticks) > 7:
            ticks = [tick for tick in ticks if math.log2(tick) % 2 == 0]
    else:
        ticks = [tick for tick in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0) if low <= tick <= high]
    return FixedLocator(ticks)
