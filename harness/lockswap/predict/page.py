"""The page of predictions: what papers say, what the model says to that, and its plots. Nothing on it was measured."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import track

from lockswap.base.paths import Paths
from lockswap.base.registry import known_labels
from lockswap.predict import bands, bends, claims, fitted, machines, model, places, statements, workloads
from lockswap.predict.answers import Answers
from lockswap.predict.bands import Point
from lockswap.records.folder import make_folder
from lockswap.report import drawing
from lockswap.report import page as pages
from lockswap.report.palette import LockStyle, Palette

if TYPE_CHECKING:
    from lockswap.report.figure import Plot


# With ten times as many, the page would take hours.
DRAWS = 12


@dataclass(frozen=True)
class Answer:
    asked: statements.Asked
    machine: machines.Machine
    workload: workloads.Workload
    points: Sequence[Point]

    @property
    def bends(self) -> list[bends.Bend]:
        return bends.of(self.points)

    @property
    def draws(self) -> int:
        return len(self.points[0].rates)


def write(paths: Paths, out: Path, draws: int) -> Path:
    """Runs the model for all questions of predict/statements.toml, and writes everything; the page's path."""
    make_folder(out, "--page")
    book = statements.read(places.statements(paths))
    kept = out / "answers"
    make_folder(kept, "--page")
    answers = _ask(paths, book, draws, kept)
    outcomes = [o for s in book.statements for o in statements.judge(s, answers[s.question].points)]
    locks = dict.fromkeys(str(p.subject) for answer in answers.values() for p in answer.points)
    styles = Palette(known_labels(paths)).styles(locks)
    no_plots = drawing.cure(paths)
    if no_plots:
        drawing.warn("page", no_plots, "this command")
    drawn = {} if no_plots else _draw(answers, styles, out / "plots")
    files = {
        "statements.csv": _statements_csv(outcomes),
        "points.csv": _points_csv(answers),
        "bends.csv": _bends_csv(answers),
    }
    for name, content in files.items():
        (out / name).write_text(content, encoding="utf-8")
    by_statement = [(s, list(found)) for s, found in groupby(outcomes, key=lambda outcome: outcome.statement)]
    file = out / "predicted.html"
    file.write_text(
        pages.render(
            "predicted.html.j2",
            styles,
            title="Predictions",
            kicker="lockswap: modelled, not measured",
            papers=book.papers,
            statements=by_statement,
            scores=[_score(by_statement, seen) for seen in (False, True)],
            answers=answers,
            coverage=claims.Coverage.sum(claims.Claims.of(answer.points).covered for answer in answers.values()),
            width=bands.width(point.band for answer in answers.values() for point in answer.points),
            fitted=list(dict.fromkeys(fitted.said(answer.machine) for answer in answers.values())),
            plots=drawn,
            no_plots=no_plots,
            draws=draws,
            downloads=files,
        ),
        encoding="utf-8",
    )
    return file


def _score(
    by_statement: Sequence[tuple[statements.Statement, list[statements.Outcome]]], seen: bool
) -> tuple[int, int]:
    """Of the statements that were seen before, or of the others: how many the model agrees with, and how many there
    are."""
    mine = [found for statement, found in by_statement if statement.seen == seen]
    return sum(all(o.holds for o in found) for found in mine), len(mine)


def _ask(paths: Paths, book: statements.Book, draws: int, kept: Path) -> dict[str, Answer]:
    answers = {}
    for of_structures in {asked.is_of_structures for asked in book.questions.values()}:
        program = (places.structures if of_structures else places.program)(paths)
        answers[of_structures] = Answers(kept, program, partial(model.run, program))
    found = {}
    for name, asked in track(book.questions.items(), "predicting", transient=True, console=Console(stderr=True)):
        machine = machines.find(places.machines(paths), asked.machine)
        workload = replace(workloads.find(places.workloads(paths), asked.workload), **asked.changes)
        question = model.Question(
            machine, workload, asked.writes, asked.subjects, asked.threads, draws, asked.virtual_ms * 1e6
        )
        mine = [one for one in book.statements if one.question == name]
        points = answers[asked.is_of_structures].points(name, question, partial(_is_settled, mine))
        found[name] = Answer(asked, machine, workload, points)
    return found


def _is_settled(mine: Sequence[statements.Statement], points: Sequence[Point]) -> bool:
    """Whether the draws agree about each rule."""
    return all(outcome.agree in (0, 1) for one in mine for outcome in statements.judge(one, points))


def _draw(answers: Mapping[str, Answer], styles: Mapping[str, LockStyle], to: Path) -> "dict[str, Plot]":
    from lockswap.predict import plots  # loads matplotlib, which an installation may lack

    dashed = plots.dashed(styles)
    drawn = {
        name: plot
        for name, answer in answers.items()
        if (plot := plots.of(answer.asked, answer.machine, answer.workload, answer.points, dashed))
    }
    for plot in drawn.values():
        plot.save(to)
    return drawn


def _statements_csv(outcomes: Sequence[statements.Outcome]) -> str:
    head = ("statement", "rule", "ratio", "low", "high", "draws_that_agree", "holds", "seen_before")
    return _csv(
        head,
        (
            (o.statement.name, o.rule.text, *_four(o.ratio.middle, o.ratio.low, o.ratio.high), f"{o.agree:.2f}",
             "yes" if o.holds else "no", "yes" if o.statement.seen else "no")
            for o in outcomes
        ),
    )  # fmt: skip


def _points_csv(answers: Mapping[str, Answer]) -> str:
    head = ("question", "machine", "workload", "writes", "lock", "threads", "per_second", "low", "high", "transfers")
    return _csv(
        head,
        (
            (name, answer.machine.name, answer.workload.name, f"{answer.asked.writes:g}", str(p.subject), p.threads,
             *_four(p.band.middle, p.band.low, p.band.high, p.transfers))
            for name, answer in answers.items()
            for p in answer.points
        ),
    )  # fmt: skip


def _bends_csv(answers: Mapping[str, Answer]) -> str:
    return _csv(
        ("question", "lock", "kind", "after", "by"),
        (
            (name, bend.lock, bend.kind, bend.after, bend.by)
            for name, answer in answers.items()
            for bend in answer.bends
        ),
    )


def _four(*values: float) -> list[str]:
    return [f"{value:.4g}" for value in values]


def _csv(head: Sequence[str], rows) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return out.getvalue()
