"""Asks the model for every point of a paper's figure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Console
from rich.progress import track

from lockswap.base.errors import UserError
from lockswap.figures.figure import Figure, Panel, X
from lockswap.figures.points import Axis
from lockswap.predict.bands import Subject
from lockswap.predict.figure_models import Book, Entry, parameters
from lockswap.predict.machines import Machine
from lockswap.predict.modelled import Modelled
from lockswap.predict.runs import Question, Run
from lockswap.predict.workloads import Workload
from lockswap.run.cpus import thread_counts


@dataclass(frozen=True)
class Model:
    """How to ask it, and what it has: locks by kind, and workloads."""

    run: Callable[[Question], list[Run]]
    known: Mapping[str, list[str]]
    workloads: Mapping[str, Workload]

    def workload(self, entry: Entry, params: Mapping[str, Any]) -> tuple[Workload, float]:
        """With the figure's parameters, and the share of writes."""
        given = {word: params[name] for word, name in entry.takes.items() if name in params}
        writes = given.pop("writes", 1 - given.pop("reads", 1 - entry.writes))
        return replace(self.workloads[entry.workload], **given), float(writes)


def ask(model: Model, book: Book, figure: Figure, machine: Machine, threads: tuple[int, ...], draws: int) -> Modelled:
    """`threads` are those of the axis; none: those of the machine."""
    counts = threads or _threads(figure, machine)
    if over := [count for count in counts if count + figure.beside > machine.processors]:
        raise UserError(
            f"--threads {over[0]}: the model needs a processor for each thread, and {machine.name} has "
            f"{machine.processors}"
        )
    entries = {panel.key: entry for panel in figure.panels if (entry := book.entry(panel))}
    xs = tuple(x for x in figure.xs if _is_covered(figure, entries, x))
    values = tuple(x.name for x in xs) if figure.xs else tuple(map(str, counts))
    modelled = Modelled(
        replace(figure, xs=xs),
        machine,
        Axis(values, len(values)),
        _subjects(model.known, figure, entries),
        entries,
        tuple(count + figure.beside for count in counts),
    )
    pairs = [(panel, x) for panel in figure.panels if panel.key in entries for x in (xs or (None,))]
    for panel, x in track(pairs, "predicting", transient=True, console=Console(stderr=True)):
        question = _question(model, entries[panel.key], modelled, parameters(panel, x), draws)
        for run in model.run(question):
            place = xs.index(x) if x else counts.index(run.threads - figure.beside)
            modelled.note(panel, place, run.subject, run.draws)
    return modelled


def _subjects(known: Mapping[str, list[str]], figure: Figure, entries: Mapping[str, Entry]) -> dict[str, Subject]:
    """By the names of lines; of those alone that the model has."""
    every = ((line.name, entry.subject(line)) for line in figure.lines for entry in entries.values())
    return {name: subject for name, subject in every if subject.lock in known.get(subject.kind, ())}


def _question(model: Model, entry: Entry, modelled: Modelled, params: Mapping[str, Any], draws: int) -> Question:
    workload, writes = model.workload(entry, params)
    subjects = tuple(dict.fromkeys(modelled.subjects.values()))
    return Question(modelled.machine, workload, writes, subjects, modelled.threads, draws, entry.virtual_ms * 1e6)


def _threads(figure: Figure, machine: Machine) -> tuple[int, ...]:
    most = machine.processors - figure.beside
    if figure.xs:
        return (min(figure.threads, most) if isinstance(figure.threads, int) else most,)
    counts = {*thread_counts(machine.cores), machine.nodes * machine.cores - figure.beside, most}
    return tuple(sorted(count for count in counts if count >= figure.least_threads))


def _is_covered(figure: Figure, entries: Mapping[str, Entry], x: X) -> bool:
    there: list[Panel] = [panel for panel in figure.panels if panel.key in entries]
    return all(entries[panel.key].covers(parameters(panel, x)) for panel in there)
