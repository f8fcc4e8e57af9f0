"""`lockswap predict`: how locks would do on a machine that isn't here. Modelled, and never beside measured figures."""

import json
from dataclasses import asdict, dataclass

from rich.table import Table

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.base.text import si, words
from lockswap.predict import bands, bends, claims, fitted, machines, model, places, workloads
from lockswap.report.console import Output
from lockswap.run.cpus import thread_counts

# Draws, and virtual time of each run: a band of 90 % needs some 200; the first fifth of a run is to warm up.
DRAWS, VIRTUAL_MS = 200, 5.0


@dataclass(frozen=True)
class Request:
    machine: str
    workload: str
    writes: float
    rwlocks: tuple[str, ...]
    mutexes: tuple[str, ...]
    threads: tuple[int, ...]
    draws: int
    virtual_ms: float
    as_json: bool


def show_list(paths: Paths) -> None:
    console = Output(highlight=False)
    known = workloads.read(places.workloads(paths)).values()
    for heading, lines in (
        (
            "Machines",
            [(n, machines.find(places.machines(paths), n).title) for n in machines.names(places.machines(paths))],
        ),
        ("Workloads", [(w.name, w.title) for w in known if w.is_of_locks]),
        (
            "Workloads of range locks and structures: 'lockswap paper FIGURE --machine NAME'",
            [(w.name, w.title) for w in known if not w.is_of_locks],
        ),
    ):
        table = Table(title=heading, title_justify="left", box=None, show_header=False, pad_edge=False)
        for line in lines:
            table.add_row(*line)
        console.print(table)


def run(paths: Paths, request: Request) -> None:
    if not request.rwlocks and not request.mutexes:
        raise UserError("name locks to predict: --rwlock ba,bravo-ba, or --mutex mcs,cohort")
    machine = machines.find(places.machines(paths), request.machine)
    workload = workloads.find(places.workloads(paths), request.workload)
    if not workload.is_of_locks:
        raise UserError(
            f"'{workload.name}' is a workload of range locks or structures, which 'lockswap paper FIGURE --machine "
            f"{request.machine}' models; 'lockswap list papers' shows the figures"
        )
    program = places.program(paths)
    threads = request.threads or _usual_threads(machine)
    known = model.known_locks(program)
    if min(threads) > machine.processors:  # locks sleep there, as glibc's do
        known = {kind: [*names, model.GLIBCS] for kind, names in known.items()}
    elif model.GLIBCS in (*request.rwlocks, *request.mutexes):
        raise UserError(
            f"'{model.GLIBCS}' (glibc's lock) is modelled only with more threads than processors: give --threads above "
            f"{machine.processors} alone, or drop it"
        )
    question = model.Question(
        machine,
        workload,
        request.writes,
        model.subjects(known, request.rwlocks, request.mutexes),
        threads,
        request.draws,
        request.virtual_ms * 1e6,
    )
    points = model.ask(program, question)
    made = claims.Claims.of(points)
    if request.as_json:
        print(json.dumps(_as_json(question, points, made), indent=1))
    else:
        _print(question, points, made)


def _usual_threads(machine: machines.Machine) -> tuple[int, ...]:
    return tuple(sorted({*thread_counts(machine.cores), machine.nodes * machine.cores, machine.processors}))


def _print(question: model.Question, points: list[bands.Point], made: claims.Claims) -> None:
    console = Output(highlight=False)
    console.print(
        f"[bold]Modelled[/], not measured: {question.workload.name} with {question.writes:.2%} writes "
        f"on {question.machine.title}"
    )
    rated = [threads for threads in question.threads if not question.shares(threads)]
    if rated:
        console.print(_table(question, points, rated))
    if len(rated) < len(question.threads):
        console.print(
            f"With more than {question.machine.processors} threads, only the order of locks is predicted.", style="dim"
        )
    for (faster, slower), where in claims.by_pair(made).items():
        at = words(claim.threads for claim in where)
        least, most = min(c.ratio for c in where), max(c.ratio for c in where)
        console.print(f"{faster} is faster than {slower} with {at} threads: {least:.1f} to {most:.1f} times")
    agreed = f"For {len(made.made)} of {made.pairs} pairs, 90 % of the {question.draws} draws agree which is faster. "
    console.print(f"{agreed if made.pairs else ''}docs/predict.md says what the model leaves out.", style="dim")
    console.print(fitted.said(question.machine), style="dim")


def _table(question: model.Question, points: list[bands.Point], rated: list[int]) -> Table:
    there = [p for p in points if p.threads in rated]
    bent = {(bend.lock, bend.kind): f"{bend.after} to {bend.by}" for bend in bends.of(there)}
    table = Table(box=None, pad_edge=False)
    table.add_column("operations/s")
    for threads in rated:
        table.add_column(f"{threads}", justify="right")
    if bent:
        table.add_column("bends at", justify="right")
    for subject in question.subjects:
        mine = [p for p in there if p.subject == subject]
        at = [bent.get((subject.lock, subject.kind), "")] if bent else []
        table.add_row(str(subject), *(si(p.band.middle) for p in mine), *at)
        table.add_row("", *(f"{si(p.band.low)}-{si(p.band.high)}" for p in mine), style="dim")
    return table


def _as_json(question: model.Question, points: list[bands.Point], made: claims.Claims) -> dict:
    return {
        "modelled": True,
        "machine": question.machine.name,
        "sources": list(question.machine.sources),
        "workload": question.workload.name,
        "writes": question.writes,
        "draws": question.draws,
        "points": [
            {"lock": p.subject.lock, "kind": p.subject.kind, "threads": p.threads, **asdict(p.band),
             "transfers": p.transfers}
            for p in points
            if not question.shares(p.threads)
        ],
        "bends": [asdict(bend) for bend in bends.of([p for p in points if not question.shares(p.threads)])],
        "claims": [asdict(c) for c in made.made],
        "coverage": made.covered.share,
        "fitted": fitted.values(question.machine),
    }  # fmt: skip
