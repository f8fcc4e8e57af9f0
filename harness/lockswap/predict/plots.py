"""The plots of predictions. Modelled lines are dashed, and each plot says that it is modelled."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from matplotlib.axes import Axes
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, NullLocator

from lockswap.base.text import tick
from lockswap.predict.bands import Point
from lockswap.predict.machines import Machine
from lockswap.predict.statements import Asked
from lockswap.predict.workloads import Workload
from lockswap.report.figure import Panel, Plot, plot
from lockswap.report.marks import mark
from lockswap.report.palette import LockStyle

Styles = Mapping[str, LockStyle]


def dashed(styles: Styles) -> dict[str, LockStyle]:
    return {lock: replace(style, dash="--") for lock, style in styles.items()}


def of(asked: Asked, machine: Machine, workload: Workload, points: Sequence[Point], styles: Styles) -> Plot | None:
    """None if there is but one number of threads."""
    if len(asked.threads) < 2:
        return None
    about = f"{workload.name} with {asked.writes:.2%} writes on {machine.name}"
    return plot(
        f"modelled-{asked.name}",
        f"Modelled, not measured: medians of the draws, and bands in which 90 % of them lie; {workload.title}",
        [Panel(f"Modelled: {about}, a dashed line for each lock", 3.6, partial(_draw, points=points, styles=styles,
               title=f"Modelled: {about}"), 7)],
        columns=1,
        legend={str(subject): str(subject) for subject in asked.subjects},
        styles=styles,
    )  # fmt: skip


def _draw(axis: Axes, points: Sequence[Point], styles: Styles, title: str) -> None:
    counts = sorted({p.threads for p in points})
    for lock in dict.fromkeys(str(p.subject) for p in points):
        mine = sorted((p for p in points if str(p.subject) == lock), key=lambda p: p.threads)
        places, style = [counts.index(p.threads) for p in mine], styles[lock]
        band = axis.fill_between(
            places, [p.band.low for p in mine], [p.band.high for p in mine], color=style.color, alpha=0.12, linewidth=0
        )
        (line,) = axis.plot(
            places,
            [p.band.middle for p in mine],
            color=style.color,
            marker=style.marker,
            linestyle=style.dash,
            linewidth=1.5,
            markersize=5,
        )
        mark(band, lock)
        mark(line, lock)
    axis.set_yscale("log")
    axis.yaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter(FuncFormatter(lambda y, _: tick(y)))
    axis.xaxis.set_major_locator(FixedLocator(range(len(counts))))
    axis.xaxis.set_major_formatter(FixedFormatter([str(n) for n in counts]))
    axis.set_xlabel("threads")
    axis.set_title(f"{title}\noperations/s, logarithmic")
