"""`lockswap paper FIGURE --machine NAME`: a paper's figure as the model sees it, beside what the paper says of it.
Nothing of it is measured, and it has a page of its own."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.base.registry import known_labels
from lockswap.base.text import quantity, words
from lockswap.figures import judge, reader
from lockswap.figures.figure import Figure, Line, Panel, Point, Y
from lockswap.figures.judge import HIT, MISS, OPEN, Judged
from lockswap.predict import asking, machines, model, places, workloads
from lockswap.predict.figure_models import Book
from lockswap.predict.modelled import Modelled
from lockswap.records.folder import make_folder
from lockswap.report import drawing
from lockswap.report import page as pages
from lockswap.report.palette import LockStyle, Palette

if TYPE_CHECKING:
    from lockswap.report.figure import Plot

DRAWS = 24
OUTCOMES = {HIT: "the model agrees", MISS: "the model disagrees", OPEN: "can't tell"}
TONES = {HIT: "good", MISS: "bad"}


@dataclass(frozen=True)
class Request:
    figure: str
    machine: str
    threads: tuple[int, ...]
    draws: int
    out: Path | None


def run(paths: Paths, request: Request) -> int:
    figure, machine = reader.find(paths, request.figure), machines.find(places.machines(paths), request.machine)
    book = Book.read(places.figures(paths))
    if not book.has(figure):
        there = [one.name for one in reader.load_all(paths).values() if book.has(one)]
        raise UserError(f"the model has no workload like that of {figure.name}; it has those of {words(there)}")
    is_structure = any(entry.parameter for panel in figure.panels if (entry := book.entry(panel)))
    program = places.structures(paths) if is_structure else places.program(paths)
    known = workloads.read(places.workloads(paths))
    asked = asking.Model(partial(model.run, program), model.known_locks(program), known)
    modelled = asking.ask(asked, book, figure, machine, request.threads, request.draws)
    judged = judge.judge(modelled)
    for line in _said(modelled, judged):
        print(line)
    print(f"{write(paths, book, modelled, judged, request)}: modelled, not measured")
    return 0


def missing(book: Book, figure: Figure, modelled: Modelled) -> Iterator[str]:
    """What the paper's figure has and this one hasn't, a sentence each."""
    if names := [line.name for line in figure.lines if line.name not in modelled.subjects]:
        yield f"The model has no {words(names)}."
    if names := [panel.heading.rstrip(": ") for panel in figure.panels if not book.entry(panel)]:
        yield f"The model has no workload like {words(names)}."
    if names := [x.name for x in figure.xs if x not in modelled.figure.xs]:
        yield f"{figure.x_label or 'The axis'}: {words(names)} would need too much virtual time."
    if names := [y.name for y in figure.ys if y not in modelled.ys]:
        yield f"The model doesn't count {words(names)}."
    yield from dict.fromkeys(text for panel in figure.panels if (entry := book.entry(panel)) for text in entry.why)


def _said(modelled: Modelled, judged: list[Judged]) -> Iterator[str]:
    yield f"Modelled, not measured: {modelled.figure.heading}, on {modelled.machine.title}"
    for one in judged:
        yield f"  {OUTCOMES[one.outcome]:<20}{one.statement.text}"
        yield f"  {'':<20}{one.why}"


@dataclass(frozen=True)
class Table:
    title: str
    unit: str
    lines: list[Line]
    rows: list[tuple[str, list]]


def tables(modelled: Modelled) -> list[Table]:
    return [_table(modelled, panel, y) for y in modelled.ys for panel in filter(y.is_in, modelled.panels)]


def _table(modelled: Modelled, panel: Panel, y: Y) -> Table:
    lines = [line for line in modelled.lines if y.has(line)]
    rows = [
        (value, [modelled.shown(Point(panel, line, x), y) for line in lines])
        for x, value in enumerate(modelled.axis.values)
    ]
    return Table(f"Modelled: {panel.heading}{y.name}", "" if y.over or y.over_first else y.unit, lines, rows)


def write(paths: Paths, book: Book, modelled: Modelled, judged: list[Judged], request: Request) -> Path:
    out = request.out or Path(f"{modelled.figure.name}-{modelled.machine.name}-modelled")
    make_folder(out)
    styles = _styles(paths, modelled)
    no_plots = drawing.cure(paths)
    drawn: list[Plot] = []
    if no_plots:
        drawing.warn("page", no_plots, "this command")
    else:
        from lockswap.predict import figure_plots  # loads matplotlib, which an installation may lack

        drawn = figure_plots.of(modelled, styles)
        for plot in drawn:
            plot.save(out / "plots")
    file = out / "modelled.html"
    file.write_text(
        pages.render(
            "modelled.html.j2",
            styles,
            title=f"{modelled.figure.number.capitalize()}, modelled",
            kicker="lockswap: modelled, not measured",
            figure=modelled.figure,
            machine=modelled.machine,
            judged=judged,
            outcomes=OUTCOMES,
            tones=TONES,
            agree=sum(one.outcome == HIT for one in judged),
            missing=list(missing(book, reader.find(paths, modelled.figure.name), modelled)),
            lines=[line.name for line in modelled.lines],
            plots=drawn,
            no_plots=no_plots,
            tables=tables(modelled),
            draws=request.draws,
            valued=lambda band, unit: quantity(band.middle, unit) if band else "–",
        ),
        encoding="utf-8",
    )
    return file


def _styles(paths: Paths, modelled: Modelled) -> dict[str, LockStyle]:
    """By the names of lines: as locks are drawn elsewhere, but dashed."""
    names = {line.name: str(modelled.subjects[line.name]) for line in modelled.lines}
    palette = Palette(known_labels(paths))
    if len(set(names.values())) < len(names):
        names, palette = {name: name for name in names}, Palette(list(names))
    drawn = palette.styles(names.values())
    return {line: replace(drawn[lock], dash="--") for line, lock in names.items()}
