"""From panels to files: one figure of all panels for papers (SVG, PNG), and each panel alone for a page."""

import io
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no display is needed

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from lockswap.report.compact import compact
from lockswap.report.marks import OF_LOCK
from lockswap.report.palette import STYLE, THEME, LockStyle

# Inches, of the files. A panel is narrower: it fills half of a wide page and the whole of a phone's, and its text
# must be readable on both.
FIGURE_WIDTH = 9.2


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    alt: str  # for readers who cannot see it
    height: float  # inches
    draw: Callable[[Axes], None]
    width: float = 4.6


@dataclass(frozen=True)
class Plot:
    """Panels that belong together, in all forms."""

    name: str
    title: str
    svg: str
    png: bytes
    panels: tuple[str, ...]  # SVG whose colours are the page's variables
    draw: Callable[[], Figure]  # all panels once more
    fold: str = ""  # a page shows it only when this line is pressed

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.name}.svg").write_text(self.svg, encoding="utf-8")
        (folder / f"{self.name}.png").write_bytes(self.png)

    def pdf(self) -> bytes:
        """For a paper: publishers take no fonts but those that are embedded whole."""
        out = io.BytesIO()
        with matplotlib.rc_context(STYLE | {"pdf.fonttype": 42}):
            figure = self.draw()
            FigureCanvasPdf(figure).print_pdf(out, metadata={"CreationDate": None, "Creator": None})
            plt.close(figure)
        return out.getvalue()


def plot(
    name: str,
    title: str,
    panels: list[Panel],
    columns: int = 2,
    legend: Mapping[str, str] | None = None,
    styles: Mapping[str, LockStyle] | None = None,
    fold: str = "",
) -> Plot:
    """Draw everything; `legend` has the locks of the legend of the files (a page has its own) and what each is called,
    `styles` has how they are drawn."""
    draw = partial(_drawn, panels, columns, legend, styles or {})
    with matplotlib.rc_context(STYLE):
        svg, png = _finish(draw(), with_png=True)
        alone = tuple(_alone(f"{name}-{n}", panel) for n, panel in enumerate(panels, 1))
        return Plot(name, title, svg, png, alone, draw, fold)


def _drawn(
    panels: list[Panel], columns: int, legend: Mapping[str, str] | None, styles: Mapping[str, LockStyle]
) -> Figure:
    """All panels in one figure."""
    columns = min(columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    height = sum(max(panel.height for panel in panels[row * columns :][:columns]) for row in range(rows))
    figure, axes = plt.subplots(rows, columns, figsize=(FIGURE_WIDTH, height), squeeze=False, layout="constrained")
    for axis, panel in zip(axes.flat, panels, strict=False):
        panel.draw(axis)
    for axis in list(axes.flat)[len(panels) :]:
        axis.set_visible(False)
    if legend:
        _legend(figure, legend, styles)
    return figure


def _alone(name: str, panel: Panel) -> str:
    figure, axis = plt.subplots(figsize=(panel.width, panel.height), layout="constrained")
    panel.draw(axis)
    svg, _ = _finish(figure, with_png=False)
    return _themed(svg, name, panel.alt)


def _finish(figure: Figure, with_png: bool) -> tuple[str, bytes]:
    svg, png = io.StringIO(), io.BytesIO()
    figure.get_layout_engine().execute(figure)
    figure.set_layout_engine("none")  # once is enough, and the same for both forms
    # By the canvases: Figure.savefig draws everything once more beforehand, for the layout.
    FigureCanvasSVG(figure).print_svg(svg, metadata={"Date": None, "Creator": None})
    if with_png:
        figure.set_dpi(160)
        FigureCanvasAgg(figure).print_png(png)
    plt.close(figure)
    return svg.getvalue(), png.getvalue()


def _themed(svg: str, name: str, alt: str) -> str:
    """For the page: no XML head, colours as variables, ids that are unique in the page, and no more than is seen."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.DOTALL)
    for variable, (light, _) in THEME.items():
        svg = svg.replace(light, f"var(--{variable})")
    svg = re.sub(rf'id="{OF_LOCK}(.+?)--\d+"', r'data-lock="\1"', svg)
    # The page sets the size; the view box keeps the proportions.
    svg = re.sub(r'(<svg[^>]*?) width="[^"]+"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]+"', r"\1", svg, count=1)
    alt = alt.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return compact(svg, name).replace("<svg ", f'<svg role="img" aria-label="{alt}" ', 1)


def _legend(figure: Figure, locks: Mapping[str, str], styles: Mapping[str, LockStyle]) -> None:
    handles = [
        plt.Line2D(
            [],
            [],
            color=styles[lock].color,
            marker=styles[lock].marker,
            linestyle=styles[lock].dash,
            linewidth=1.5,
            markersize=5,
            label=text,
        )
        for lock, text in locks.items()
    ]
    legend = figure.legend(
        handles=handles, loc="upper left", ncols=min(6, len(handles)), columnspacing=1.4, handlelength=2
    )
    # The panels lie below it. matplotlib 3.7 can do that by itself ("outside upper left"), 3.6 cannot.
    top = legend.get_window_extent(FigureCanvasAgg(figure).get_renderer()).y0 / figure.bbox.height
    figure.get_layout_engine().set(rect=(0, 0, 1, top))
