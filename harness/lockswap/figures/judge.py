"""Whether what a paper says of its figure holds here: hit, miss, or can't tell, with the ratios that say so."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Protocol

from lockswap.base.text import plural, si, words
from lockswap.figures.figure import ALL, FEWEST, MOST, Figure, Panel, Point, Statement, Y
from lockswap.figures.points import Axis
from lockswap.findings.stats import EQUAL, FASTER, MIN_PAIRS, SLOWER, Ratio

HIT, MISS, OPEN = "hit", "miss", "can't tell here"
_TOLD = 6  # so many of a statement's points are told
# A smaller ratio is said as a fraction.
_SMALL = 0.1


class Measured(Protocol):
    """What was measured of a figure, such as values.py has it of a campaign."""

    @property
    def figure(self) -> Figure: ...
    @property
    def processors(self) -> int: ...
    @property
    def axis(self) -> Axis: ...

    def ratio(self, one: Point, other: Point, y: Y, better: bool) -> Ratio | None:
        """Of two points; `better`: above 1 is better. None if one of them has no value."""

    def why_missing(self, point: Point) -> str:
        """Why there is no value; empty if nobody knows."""


@dataclass(frozen=True)
class Judged:
    statement: Statement
    outcome: str
    why: str


@dataclass(frozen=True)
class _Compared:
    """Two points of which a statement says how they stand to each other."""

    one: Point
    other: Point
    text: str  # "BA to pthread with 2 threads"


def judge(measured: Measured) -> list[Judged]:
    return [_judged(measured, statement) for statement in measured.figure.says]


def _judged(measured: Measured, statement: Statement) -> Judged:
    if measured.processors < statement.needs:
        here = plural(measured.processors, "processor")
        return Judged(statement, OPEN, f"It shows from {statement.needs} processors on, and here were {here}")
    y = next(one for one in measured.figure.ys if statement.y in ("", one.name))
    compared = list(_compared(measured, statement))
    if not compared:
        return Judged(statement, OPEN, _why_none(measured))
    found = [_outcome(measured, statement, y, one) for one in compared]
    outcomes = [outcome for outcome, _ in found]
    worst = MISS if MISS in outcomes else OPEN if OPEN in outcomes else HIT
    return Judged(statement, worst, _said([text for outcome, text in found if outcome == worst]))


def _said(texts: list[str]) -> str:
    more = len(texts) - _TOLD
    return "; ".join([*texts[:_TOLD], *([f"and {more} more"] if more > 0 else [])])


def _why_none(measured: Measured) -> str:
    if not measured.axis.fitting:
        return "Every point has more threads than there are processors"
    return "No two points of it were measured without more threads than processors"


def _compared(measured: Measured, statement: Statement) -> Iterator[_Compared]:
    figure = measured.figure
    panels = [panel for panel in figure.panels if not statement.panels or panel.key in statement.panels]
    for panel, names in product(panels, statement.of):
        where = f" in ({panel.key})" if panel.key and len(figure.panels) > 1 else ""
        if len(names) == 1:
            yield from _along(measured, statement, panel, where, names[0])
            continue
        one, other = map(figure.line, names)
        for x in _places(measured, statement.at):
            text = f"{one.name} to {other.name}{where} {_at(measured, x)}"
            yield _Compared(Point(panel, one, x), Point(panel, other, x), text)


def _along(measured: Measured, statement: Statement, panel: Panel, where: str, name: str) -> Iterator[_Compared]:
    """The last value of a line to its first one."""
    axis, line = measured.axis, measured.figure.line(name)
    first, last = axis.values.index(statement.since) if statement.since in axis.values else 0, axis.fitting - 1
    if last > first:
        unit = " threads" if measured.figure.by_threads else ""
        text = f"{name}{where}, {axis.values[last]} to {axis.values[first]}{unit}"
        yield _Compared(Point(panel, line, last), Point(panel, line, first), text)


def _places(measured: Measured, at: str | tuple[str, ...]) -> list[int]:
    axis = measured.axis
    there = list(range(axis.fitting))
    if isinstance(at, tuple):
        return [place for place in there if axis.values[place] in at]
    return {ALL: there, FEWEST: there[:1], MOST: there[-1:]}[at]


def _at(measured: Measured, x: int) -> str:
    value = measured.axis.values[x]
    if measured.figure.by_threads:
        return f"with {plural(int(value), 'thread')}"
    return f"at {value}"


def _outcome(measured: Measured, statement: Statement, y: Y, compared: _Compared) -> tuple[str, str]:
    ratio = measured.ratio(compared.one, compared.other, y, statement.better)
    if ratio is None:
        reasons = filter(None, map(measured.why_missing, (compared.one, compared.other)))
        return OPEN, f"{compared.text}: {next(reasons, 'not measured')}"
    if not ratio.trusted:
        return OPEN, f"{compared.text}: {plural(ratio.n, 'round')}, where {MIN_PAIRS} are needed"
    outcome = outcome_of(ratio, statement.least, statement.most, statement.strict)
    return outcome, f"{compared.text}: {_factor(ratio)}{_noisy(ratio, outcome)}"


def outcome_of(ratio: Ratio, least: float, most: float, strict: bool) -> str:
    """Whether a ratio is shown to lie within bounds, shown to lie outside, or neither."""
    lower = _times(ratio, 1 / least).verdict if least > 0 else FASTER
    upper = _times(ratio, 1 / most).verdict if most < float("inf") else SLOWER
    if lower == SLOWER or upper == FASTER:
        return MISS
    if strict:
        return HIT if (lower, upper) == (FASTER, SLOWER) else MISS if EQUAL in (lower, upper) else OPEN
    return HIT if ratio.low >= least and ratio.high <= most else OPEN


def _times(ratio: Ratio, factor: float) -> Ratio:
    return replace(ratio, estimate=ratio.estimate * factor, low=ratio.low * factor, high=ratio.high * factor)


def _factor(ratio: Ratio) -> str:
    return f"{_times_said(ratio.estimate)} ({_times_said(ratio.low)} to {_times_said(ratio.high)})"


def _times_said(value: float) -> str:
    """'0.84×', '1.5×', '1/52k×'."""
    if 0 < value < _SMALL:
        return f"1/{si(1 / value)}×"
    return f"{si(value)}×" if math.isfinite(value) else "infinitely"


def _noisy(ratio: Ratio, outcome: str) -> str:
    return f", while equals differed by {_times_said(ratio.noise or 1)}" if outcome == OPEN and ratio.hidden else ""


def tally(found: list[Judged]) -> str:
    """'4 statements: 2 hits, 1 miss, 1 can't be told here'."""
    if not found:
        return "The paper says nothing of it that could be checked"
    count = {outcome: sum(one.outcome == outcome for one in found) for outcome in (HIT, MISS, OPEN)}
    said = [f"{count[HIT]} hit", f"{count[MISS]} missed", f"{count[OPEN]} can't be told here"]
    kept = [text for text, outcome in zip(said, (HIT, MISS, OPEN), strict=True) if count[outcome]]
    return f"{plural(len(found), 'statement')} of the paper: {words(kept)}"
