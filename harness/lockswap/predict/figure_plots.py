"""The plots of a paper's figure as the model sees it: dashed lines in bands, each titled as modelled."""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from matplotlib.axes import Axes

from lockswap.figures.figure import Panel as FigurePanel
from lockswap.figures.figure import Point, Y, slug
from lockswap.findings.stats import Spread
from lockswap.predict.bands import Band
from lockswap.predict.modelled import Modelled
from lockswap.report.figure import Panel, Plot, plot
from lockswap.report.marks import mark
from lockswap.report.palette import LockStyle
from lockswap.report.scale import set_scale

_HEIGHT = 3.3  # inches of a pair of axes

Styles = Mapping[str, LockStyle]


@dataclass(frozen=True)
class _Axes:
    """What one pair of axes shows."""

    modelled: Modelled
    panel: FigurePanel
    y: Y

    @property
    def title(self) -> str:
        over = f", relative to {self.y.over}" if self.y.over else ""
        over += f", relative to {self.modelled.axis.values[0]}" if self.y.over_first else ""
        unit = f" [{self.y.unit}]" if self.y.unit and not over else ""
        return f"Modelled: {self.panel.heading}{self.y.name}{unit}{over}".replace(" %", "\u00a0%")


def of(modelled: Modelled, styles: Styles) -> list[Plot]:
    """A plot for each y axis; `styles` are those of the lines, by their names."""
    return [_plot(modelled, y, styles) for y in modelled.ys]


def _plot(modelled: Modelled, y: Y, styles: Styles) -> Plot:
    heading = f"Modelled, not measured: {modelled.figure.heading} on {modelled.machine.name}"
    shown = [_Axes(modelled, panel, y) for panel in filter(y.is_in, modelled.panels)]
    return plot(
        f"modelled-{modelled.figure.name}-{slug(y.name)}",
        f"{heading}: {y.name}, medians of the draws, and bands in which 90 % of them lie",
        [Panel(f"{heading}: {one.title}", _HEIGHT, partial(_draw, shown=one, styles=styles)) for one in shown],
        legend={line.name: line.name for line in modelled.lines if y.has(line)},
        styles=styles,
    )


def _draw(axis: Axes, shown: _Axes, styles: Styles) -> None:
    modelled = shown.modelled
    every: list[Band] = []
    for line in filter(shown.y.has, modelled.lines):
        points = [Point(shown.panel, line, x) for x in range(len(modelled.axis.values))]
        found = [(p.x, band) for p in points if (band := modelled.shown(p, shown.y))]
        if found:
            _draw_line(axis, found, line.name, styles[line.name])
            every += [band for _, band in found]
    spreads = [Spread.of((band.low, band.middle, band.high)) for band in every]
    logarithmic, _ = set_scale(axis, spreads, [end for band in every for end in (band.low, band.high)])
    axis.set_title(textwrap.fill(shown.title + (", logarithmic" if logarithmic else ""), 48))
    axis.set_xticks(range(len(modelled.axis.values)), modelled.axis.values)
    axis.set_xlabel(modelled.figure.x_label)
    axis.grid(visible=False, axis="x")


def _draw_line(axis: Axes, found: list[tuple[int, Band]], name: str, style: LockStyle) -> None:
    places = [x for x, _ in found]
    lows, highs = [band.low for _, band in found], [band.high for _, band in found]
    mark(axis.fill_between(places, lows, highs, color=style.color, alpha=0.12, linewidth=0), name)
    (line,) = axis.plot(
        places,
        [band.middle for _, band in found],
        color=style.color,
        marker=style.marker,
        linestyle=style.dash,
        linewidth=1.5,
        markersize=5,
    )
    mark(line, name)
