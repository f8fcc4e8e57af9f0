"""The plots of a paper's figure: its axes with all its lines, by the clock and beside that per CPU-second."""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from matplotlib.axes import Axes

from lockswap.figures.figure import Panel as FigurePanel
from lockswap.figures.figure import Point, Y
from lockswap.figures.values import Measured, plot_name
from lockswap.findings.stats import Spread
from lockswap.report.figure import Panel, Plot, plot
from lockswap.report.marks import mark
from lockswap.report.palette import BAND, MUTED, LockStyle
from lockswap.report.scale import set_scale

_HEIGHT = 3.3  # inches of a pair of axes
_APART = 0.24  # from the first line to the last one at the same place, so that their bars don't overlap

Styles = Mapping[str, LockStyle]


@dataclass(frozen=True)
class _Axes:
    """What one pair of axes shows."""

    measured: Measured
    panel: FigurePanel
    y: Y
    per_cpu: bool

    @property
    def title(self) -> str:
        which = ("Model: " if self.measured.figure.model else "") + self.panel.heading
        clock = f", {self.y.clock(self.per_cpu)}" if self.measured.has_per_cpu(self.y) else ""
        over = f", relative to {self.y.over}" if self.y.over else ""
        over += f", relative to {self.measured.axis.values[0]}" if self.y.over_first else ""
        unit = f" [{self.y.unit}]" if self.y.unit and not over else ""
        # No line ends before a per cent sign.
        return f"{which}{self.y.name}{unit}{clock}{over}".replace(" %", "\u00a0%")


def of(measured: Measured, styles: Styles) -> list[Plot]:
    """A plot for each y axis of the figure; `styles` are those of its lines, by their names."""
    return [_plot(measured, y, styles) for y in measured.figure.ys]


def _plot(measured: Measured, y: Y, styles: Styles) -> Plot:
    figure = measured.figure
    clocks = (False, True) if measured.has_per_cpu(y) else (False,)
    shown = [_Axes(measured, panel, y, per_cpu) for panel in filter(y.is_in, figure.panels) for per_cpu in clocks]
    band = "; the grey part has more threads than processors" if measured.axis.over_subscribed else ""
    return plot(
        plot_name(figure, y),
        f"{figure.heading}: {y.name}, median of the runs; bars reach from the smallest to the largest{band}",
        [Panel(f"{figure.heading}: {one.title}", _HEIGHT, partial(_draw, shown=one, styles=styles)) for one in shown],
        legend={line.name: line.name for line in figure.lines if y.has(line)},
        styles=styles,
    )


def _draw(axis: Axes, shown: _Axes, styles: Styles) -> None:
    measured, y = shown.measured, shown.y
    lines = [line for line in measured.figure.lines if y.has(line)]
    every: list[Spread] = []
    for place, line in enumerate(lines):
        shift = _APART * (place / (len(lines) - 1) - 0.5) if len(lines) > 1 else 0
        found = [
            (x + shift, spread)
            for x in range(len(measured.axis.values))
            if (spread := measured.spread(Point(shown.panel, line, x), y, shown.per_cpu))
        ]
        if found:
            _draw_line(axis, found, line.name, styles[line.name])
            every += [spread for _, spread in found]
    logarithmic, _ = set_scale(axis, every, [end for spread in every for end in (spread.low, spread.high)])
    axis.set_title(textwrap.fill(shown.title + (", logarithmic" if logarithmic else ""), 48))
    _draw_x(axis, measured)


def _draw_line(axis: Axes, found: list[tuple[float, Spread]], name: str, style: LockStyle) -> None:
    xs, spreads = [x for x, _ in found], [spread for _, spread in found]
    artists = [
        axis.vlines(xs, [s.low for s in spreads], [s.high for s in spreads], colors=style.color, lw=1.1, zorder=3),
        *axis.plot(
            xs, [s.median for s in spreads], style.dash, color=style.color, marker=style.marker, markersize=6,
            linewidth=1.4, markeredgecolor=axis.get_facecolor(), markeredgewidth=0.9, zorder=3.2,
        ),
    ]  # fmt: skip
    for artist in artists:
        mark(artist, name)


def _draw_x(axis: Axes, measured: Measured) -> None:
    values, fitting = measured.axis.values, measured.axis.fitting
    axis.set_xticks(range(len(values)), values)
    axis.set_xlim(-0.5, len(values) - 0.5)
    axis.set_xlabel(measured.figure.x_label)
    axis.grid(visible=False, axis="x")
    if measured.axis.over_subscribed:
        axis.axvspan(fitting - 0.5, len(values) - 0.5, color=BAND, alpha=0.45, lw=0, zorder=0)
        axis.annotate(
            "more threads than processors", (len(values) - 0.5, 1), xycoords=("data", "axes fraction"),
            xytext=(-3, -3), textcoords="offset points", ha="right", va="top", fontsize=8, color=MUTED,
        )  # fmt: skip
