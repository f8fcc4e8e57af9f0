"""The plots of one workload: figures against threads, ratios, and what the runs cost."""

import textwrap
from collections.abc import Callable, Mapping
from functools import partial

from matplotlib.axes import Axes
from matplotlib.transforms import offset_copy

from lockswap.base.choice import BASELINES, MUTEX_PTHREAD, NONE, PTHREAD
from lockswap.base.text import plural, si, words
from lockswap.findings.effects import is_time
from lockswap.findings.measured import Cell, Workload, compared
from lockswap.findings.measures import MetricInfo, split
from lockswap.findings.stats import Spread
from lockswap.records.row import Row
from lockswap.report import forest
from lockswap.report.figure import Panel, Plot, plot
from lockswap.report.marks import mark
from lockswap.report.palette import INK, MUTED, LockStyle
from lockswap.report.scale import set_scale

_FEW = 4  # locks beside the first one: with more they take more of the room between thread counts
_POINTS_PER_INCH = 72
_LEAST_POINTS, _MOST_POINTS = 3.5, 7  # of a marker

Value = Callable[[Row], float | None]
Styles = Mapping[str, LockStyle]


def of(workload: Workload, styles: Styles) -> list[Plot]:
    """All plots of one workload; none if nothing was measured. `styles` has those of all locks of the campaign."""
    if not workload.measured():
        return []
    first, more = split(workload.metrics)
    shown = [*more, *workload.shown]
    others = [other for metric in workload.metrics if (other := workload.leading(metric)[1])]
    by = "by the clock" if workload.per_cpu else "per CPU-second"
    fold = f"More figures: {words([metric.name for metric in shown])}"
    return [
        _figures(workload, styles, "throughput", first),
        _ratios(workload, styles, "ratio", _leading(workload, first)),
        _resources(workload, styles),
        *([_figures(workload, styles, "more", shown, fold)] if shown else []),
        *([_ratios(workload, styles, "more-ratio", _leading(workload, more), f"{fold}: ratios")] if more else []),
        *([_ratios(workload, styles, "ratio-other", others, f"Ratios {by}", f", {by}")] if others else []),
    ]


def _leading(workload: Workload, metrics: list[MetricInfo]) -> list[MetricInfo]:
    return [workload.leading(metric)[0] for metric in metrics]


def _legend(workload: Workload) -> dict[str, str] | None:
    """With one thread count the axis names the locks."""
    if len(workload.threads) == 1:
        return None
    glibcs = "glibc" if workload.takes_glibcs else "the program as it is"
    texts = {NONE: "none (no preload)", **{lock: f"{lock} ({glibcs})" for lock in (PTHREAD, MUTEX_PTHREAD)}}
    return {lock: texts.get(lock, lock) for lock in workload.locks}


def _figures(workload: Workload, styles: Styles, kind: str, metrics: list[MetricInfo], fold: str = "") -> Plot:
    return plot(
        f"{workload.name}-{kind}",
        "Median of the runs; thin bars reach from the smallest to the largest, thick ones hold the middle half, "
        "each faint point is a run, a hollow one a run while the machine was busy",
        [
            Panel(
                f"{workload.info['title']}: {metric.name} against threads, a line for each lock",
                3.3,
                partial(_figure, workload=workload, styles=styles, metric=metric),
            )
            for metric in metrics
        ],
        legend=_legend(workload),
        styles=styles,
        fold=fold,
    )


def _figure(axis: Axes, workload: Workload, styles: Styles, metric: MetricInfo) -> None:
    unit = f" [{metric.unit}]" if metric.unit else ""
    better = ", more is better" if metric.higher_is_better else ", less is better"
    if metric in workload.shown:
        better = ""
    logarithmic = _against_threads(axis, workload, styles, lambda row: row.metrics.get(metric.name))
    _title(axis, f"{metric.name}{unit}{better}{', logarithmic' if logarithmic else ''}")
    _mark_failures(axis, workload, styles, metric)


def _title(axis: Axes, text: str) -> None:
    axis.set_title(textwrap.fill(text, 48))


def _resources(workload: Workload, styles: Styles) -> Plot:
    def switches(row: Row) -> float | None:
        wall = row.numbers.get("wall_s")
        return row.numbers["context_switches"] / wall if wall and "context_switches" in row.numbers else None

    def megabytes(row: Row) -> float | None:
        return row.numbers["max_rss_kb"] / 1024 if "max_rss_kb" in row.numbers else None

    def panel(title: str, value: Value) -> Panel:
        def draw(axis: Axes) -> None:
            logarithmic = _against_threads(axis, workload, styles, value)
            _title(axis, title + (", logarithmic" if logarithmic else ""))

        return Panel(f"{workload.info['title']}: {title} against threads, a line for each lock", 3.0, draw, 4.0)

    return plot(
        f"{workload.name}-resources",
        "What the runs cost",
        [
            panel("CPU seconds of a run", lambda row: row.numbers.get("cpu_s")),
            panel("context switches [1/s]", switches),
            panel("peak memory [MB]", megabytes),
        ],
        columns=3,
        fold="What the runs cost",
        legend=_legend(workload),
        styles=styles,
    )


def _step(workload: Workload) -> float:
    """From a lock to the next one, where the distance of thread counts is 1."""
    others = max(1, len(workload.locks) - 1)
    return (0.56 if len(workload.threads) > 1 and others <= _FEW else 0.8) / others


def _marker_size(axis: Axes, workload: Workload) -> float:
    """Points. With many locks small enough to leave the neighbours' markers visible."""
    width = axis.get_position().width * axis.figure.get_figwidth() * _POINTS_PER_INCH
    return min(_MOST_POINTS, max(_LEAST_POINTS, _step(workload) * width / len(workload.threads)))


def _places(workload: Workload) -> dict[tuple[int, str], float]:
    """Thread counts evenly spaced; locks side by side, so that their bars do not overlap."""
    locks, step = workload.locks, _step(workload)
    return {
        (threads, lock): place + (index - (len(locks) - 1) / 2) * step
        for place, threads in enumerate(workload.threads)
        for index, lock in enumerate(locks)
    }


def _against_threads(axis: Axes, workload: Workload, styles: Styles, value: Value) -> bool:
    """A line a lock; whether the axis became logarithmic."""
    places, single, size = _places(workload), len(workload.threads) == 1, _marker_size(axis, workload)
    spreads: list[Spread] = []
    everything: list[float] = []
    drawn: list[tuple[float, str, Spread]] = []
    for lock in workload.locks:
        cells = [
            (places[threads, lock], cell) for threads in workload.threads if (cell := workload.cell(threads, lock))
        ]
        found = [(x, cell, spread) for x, cell in cells if (spread := cell.spread(value))]
        if found:
            _draw_lock(axis, found, lock, styles[lock], value, single, size)
            spreads += [spread for _, _, spread in found]
            drawn += [(x, lock, spread) for x, _, spread in found]
            everything += [v for _, cell, _ in found for row in cell.good if (v := value(row)) is not None]
    if single:
        # Nothing to draw a line along: the locks themselves are the axis.
        threads = workload.threads[0]
        axis.set_xticks(
            [places[threads, lock] for lock in workload.locks], workload.locks, rotation=30, ha="right",
            rotation_mode="anchor",
        )  # fmt: skip
        axis.set_xlim(-0.5, 0.5)
        axis.set_xlabel(f"{threads} {workload.info['threads_label']}")
    else:
        axis.set_xticks(range(len(workload.threads)), [str(count) for count in workload.threads])
        axis.set_xlim(-0.5, len(workload.threads) - 0.5)
        axis.set_xlabel(workload.info["threads_label"])
    axis.grid(visible=False, axis="x")
    logarithmic, limit = set_scale(axis, spreads, everything)
    for x, lock, spread in drawn:
        if spread.high > limit:
            _mark_beyond(axis, x, spread.high, lock)
    return logarithmic


def _mark_beyond(axis: Axes, x: float, value: float, lock: str) -> None:
    """A run above the end of the axis: an arrow there, with its value."""
    text = axis.annotate(
        f"↑ {si(value)}", (x, 1), xycoords=("data", "axes fraction"), xytext=(0, -1), textcoords="offset points",
        ha="center", va="top", fontsize=8.5, color=INK, fontweight="bold", annotation_clip=False,
    )  # fmt: skip
    mark(text, lock)


def _draw_lock(axis: Axes, found: list, lock: str, style: LockStyle, value: Value, single: bool, size: float) -> None:
    xs, spreads = [x for x, _, _ in found], [spread for _, _, spread in found]
    front = 3 if lock not in BASELINES else 2.5
    # A little to the right, where the bar does not hide them.
    to_the_right = offset_copy(axis.transData, axis.figure, x=5, units="points")
    artists = []
    for busy, face in ((0, style.color), (1, "none")):
        runs = [
            (x, v)
            for x, cell, _ in found
            for row in cell.good
            if row.disturbed == busy and (v := value(row)) is not None
        ]
        if runs:
            artists.append(
                axis.scatter(
                    *zip(*runs, strict=True), s=10, facecolors=face, edgecolors=style.color, alpha=0.4,
                    linewidths=0.7 * busy, transform=to_the_right, zorder=front - 0.2,
                )
            )  # fmt: skip
    artists += [
        axis.vlines(xs, [s.low for s in spreads], [s.high for s in spreads], colors=style.color, lw=1.1, zorder=front),
        axis.vlines(xs, [s.q1 for s in spreads], [s.q3 for s in spreads], colors=style.color, lw=3.2, zorder=front),
    ]  # fmt: skip
    medians = [spread.median for spread in spreads]
    if not single:
        artists += axis.plot(xs, medians, style.dash, color=style.color, alpha=0.9 if lock == NONE else 0.45,
                             linewidth=1.6 if lock == NONE else 1.2, zorder=front - 0.4)  # fmt: skip
    artists += axis.plot(
        xs, medians, linestyle="none", color=style.color, marker=style.marker, markersize=size,
        markeredgecolor=axis.get_facecolor(), markeredgewidth=0.9, zorder=front + 0.2,
    )  # fmt: skip
    for artist in artists:
        mark(artist, lock)


def _mark_failures(axis: Axes, workload: Workload, styles: Styles, metric: MetricInfo) -> None:
    """A combination without a single good run gets a mark on the axis, and its reason above it, instead of a hole."""
    reasons = {}
    for (threads, lock), x in _places(workload).items():
        cell = workload.cell(threads, lock)
        if not cell or not cell.rows or cell.metric(metric.name):
            continue
        reasons.setdefault(_reason(cell), []).append(lock)
        artist = axis.annotate(
            "✗",
            (x, 0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=12,
            color=styles[lock].color,
            fontweight="bold",
            annotation_clip=False,
        )
        mark(artist, lock)
    if reasons:
        text = "; ".join(f"{words(list(dict.fromkeys(locks)))}: {reason}" for reason, locks in reasons.items())
        axis.annotate(
            textwrap.fill(f"✗ {text}", 56),
            (0, 1),
            xycoords="axes fraction",
            ha="left",
            va="top",
            xytext=(6, -2),
            textcoords="offset points",
            fontsize=8.5,
            color=MUTED,
        )


def _reason(cell: Cell | None) -> str:
    return cell.failures[0][0] if cell and cell.failures else "not measured"


def _ratios(
    workload: Workload, styles: Styles, kind: str, metrics: list[MetricInfo], fold: str = "", by: str = ""
) -> Plot:
    """A line a thread count and lock: estimate and interval."""
    panels = []
    for metric in metrics:
        groups = _groups(workload, styles, metric)
        panels.append(
            Panel(
                f"{workload.info['title']}: {metric.name}, ratio of each lock to {workload.against} with its interval",
                forest.height(groups),
                partial(
                    forest.draw,
                    groups=groups,
                    title=f"{metric.name}: ratio to {workload.against}",
                    sides=("longer", "shorter") if is_time(metric) else ("worse", "better"),
                ),
            )
        )
    band = any(workload.noise(threads, metric) for threads in workload.threads for metric in metrics)
    return plot(
        f"{workload.name}-{kind}",
        f"Against {workload.against} in the same round{by}, with the 95 % interval; each faint point is a round"
        + (", the grey band is the noise" if band else ""),
        panels,
        fold=fold,
    )


def _groups(workload: Workload, styles: Styles, metric: MetricInfo) -> list[forest.ForestGroup]:
    groups = []
    for threads in workload.threads:
        lines = []
        for lock in compared(workload.locks, workload.against):
            ratio = workload.ratio(threads, lock, metric)
            lines.append(
                forest.ForestLine(
                    lock,
                    lock,
                    styles[lock],
                    ratio,
                    "✗ " + _reason(workload.cell(threads, lock)),
                    workload.round_ratios(threads, lock, metric),
                    metric=metric,
                )
            )
        noise = workload.noise(threads, metric)
        groups.append(forest.ForestGroup(plural(threads, "thread"), lines, noise.floor if noise else None))
    return groups
