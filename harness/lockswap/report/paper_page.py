"""The page of a paper's figure, and its lines for the terminal: the plots, beside them what the paper says."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from lockswap.base.choice import NONE
from lockswap.base.text import quantity
from lockswap.figures import judge, reader
from lockswap.figures.figure import Panel, Point, Y
from lockswap.figures.judge import HIT, MISS, Judged
from lockswap.figures.values import KEY, Measured
from lockswap.findings.measured import Campaign
from lockswap.findings.stats import Spread
from lockswap.report.palette import LockStyle, Palette

TONES = {HIT: "good", MISS: "bad"}  # classes of the page; others are neither


@dataclass(frozen=True)
class Table:
    """The medians of one pair of axes: a row for each value of the x axis."""

    title: str
    unit: str
    lines: list[str]
    rows: list[tuple[str, list[Spread | None]]]


def measured_of(campaign: Campaign) -> Measured | None:
    """None if the campaign is not about a paper's figure."""
    about = campaign.about.get(KEY)
    if about is None:
        return None
    figure = reader.parse(dict(about["file"]), f"{KEY} in campaign.toml")
    kept = replace(figure, xs=tuple(x for x in figure.xs if x.name in about["xs"]))
    return Measured(kept, campaign, int(about["processors"]))


def styles_of(measured: Measured, known: list[str]) -> dict[str, LockStyle]:
    """By the names of lines: as locks are drawn, if each line is a lock."""
    lines = measured.figure.lines
    locks = [line.lock or NONE for line in lines]
    if len(set(locks)) == len(lines):
        drawn = Palette(known).styles(locks)
        return {line.name: drawn[line.lock or NONE] for line in lines}
    return Palette([line.name for line in lines]).styles(line.name for line in lines)


def tables(measured: Measured) -> list[Table]:
    figure = measured.figure
    return [
        _table(measured, panel, y, per_cpu)
        for y in figure.ys
        for panel in filter(y.is_in, figure.panels)
        for per_cpu in ((False, True) if measured.has_per_cpu(y) else (False,))
    ]


def _table(measured: Measured, panel: Panel, y: Y, per_cpu: bool) -> Table:
    lines = [line for line in measured.figure.lines if y.has(line)]
    rows = [
        (value, [measured.spread(Point(panel, line, x), y, per_cpu) for line in lines])
        for x, value in enumerate(measured.axis.values)
    ]
    relative = y.over or y.over_first
    unit = "" if relative else y.unit
    return Table(
        f"{panel.heading}{y.name}{f', {y.clock(per_cpu)}' if per_cpu else ''}",
        unit,
        [line.name for line in lines],
        rows,
    )


def said(measured: Measured) -> Iterator[str]:
    """For the terminal: each statement with its outcome, and how many hold."""
    found = judge.judge(measured)
    figure = measured.figure
    yield figure.heading
    for one in found:
        yield f"  {one.outcome:<16}{one.statement.text}"
        yield f"  {'':<16}{one.why}"
    if figure.lacks:
        yield f"Not here: {figure.lacks}"
    yield judge.tally(found)


def variables(measured: Measured) -> dict[str, object]:
    """For the template."""
    found: list[Judged] = judge.judge(measured)
    return {
        "measured": measured,
        "figure": measured.figure,
        "judged": found,
        "tally": judge.tally(found),
        "tones": TONES,
        "tables": tables(measured),
        "failures": list(dict.fromkeys(text for y in measured.figure.ys for text in measured.failures(y))),
        "valued": lambda spread, unit: quantity(spread.median, unit) if spread else "–",
    }
