"""`lockswap predict --validate`: predicts this machine, then measures it, and writes both into one file.

`--merge` sums up such files of several machines (merged_page.py makes a page of them).
"""

import json
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tomli_w
from rich.table import Table

from lockswap.base.errors import UserError, cannot_write
from lockswap.base.files import check_can_be_written
from lockswap.base.paths import Paths
from lockswap.base.text import si
from lockswap.predict import machine_file, machines, merged_page, model, pairs, places, validation, workloads
from lockswap.predict.bands import Band, Subject
from lockswap.predict.claims import Claims, Coverage
from lockswap.predict.measured import Place
from lockswap.predict.validation import Validation
from lockswap.records import durable
from lockswap.report.console import Output
from lockswap.run.cpus import cpus, thread_counts

# The workload of predict/workloads.toml, and of apps/, that is predicted and measured.
WORKLOAD = "pairs"
# Shares of writes, by kind of lock.
_WRITES = {"rwlock": (0.0, 1.0), "mutex": (1.0,)}
_SHOWN = 10
# Fewer and shorter than in a single prediction, since there are some hundred locks.
DRAWS, VIRTUAL_MS = 40, 0.5


@dataclass(frozen=True)
class Request:
    out: Path
    machine: str | None  # a file; None: measured first
    threads: tuple[int, ...]
    rwlocks: tuple[str, ...]  # nothing named: all
    mutexes: tuple[str, ...]
    draws: int
    virtual_ms: float
    rounds: int
    seconds: float


def run(paths: Paths, request: Request) -> int:
    if request.out.exists():
        raise UserError(f"{request.out} exists already: name another file with --validate")
    check_can_be_written("--validate", request.out)
    most = len(cpus())
    threads = request.threads or thread_counts(most)
    if max(threads) > most:
        raise UserError(f"--threads {max(threads)}: the model needs a processor for each, and {most} may be used here")
    model_program, bench = places.program(paths), places.built(paths, paths.apps / WORKLOAD, WORKLOAD)
    subjects = _subjects(model_program, request)
    table, machine = _machine(paths, request.machine)
    floor = pairs.Loop.measure(bench, 1).ns
    about: dict[str, Any] = {
        "machine": table,
        "predicted_at": _now(),
        "draws": request.draws,
        "virtual_ms": request.virtual_ms,
        "floor_ns": round(floor, 3),
        "rounds": request.rounds,
        "seconds": request.seconds,
    }
    print("lockswap: predicting", file=sys.stderr)
    predicted, covered = _predict(paths, model_program, machine, subjects, threads, floor, request)
    about["claims"] = asdict(covered)
    _write(request.out, validation.as_json(about, predicted, {}))  # before anything of it is measured
    print(f"lockswap: the predictions are in {request.out}; measuring", file=sys.stderr)
    measured = pairs.measure(paths, bench, list(predicted), request.rounds, request.seconds)
    about["measured_at"] = _now()
    _write(request.out, validation.as_json(about, predicted, measured))
    show([validation.read(request.out)])
    return 0


def merge(files: Sequence[Path], as_json: bool, page: Path | None) -> int:
    if not files:
        raise UserError("name the files to merge: lockswap predict --merge A.json B.json")
    found = [validation.read(file) for file in files]
    if as_json:
        print(json.dumps([_summary(one) for one in found], indent=1))
    else:
        show(found)
    if page is not None:
        print(f"lockswap: wrote {merged_page.write(found, page)}", file=sys.stderr)
    return 0


def show(found: Sequence[Validation]) -> None:
    """A line a machine, and the predictions that were furthest off."""
    console = Output(highlight=False)
    table = Table(title="Predicted, then measured", title_justify="left", box=None, pad_edge=False)
    for heading in ("machine", "points", "in their bands", "top/bottom", "median error", "order right", "claimed"):
        table.add_column(heading, justify="left" if heading == "machine" else "right")
    for one in found:
        score = one.score
        table.add_row(
            one.title,
            str(score.points),
            f"{score.inside / score.points:.0%}",
            f"{score.width:.1f}",
            f"{score.error:.0%}",
            f"{score.right} of {score.ordered}",
            f"{score.covered.share:.0%}",
        )
    console.print(table)
    console.print(
        "top/bottom: the median ratio of a band's top to its bottom. claimed: for this share of the pairs of locks, 90 "
        "% of the draws agreed which is faster.",
        style="dim",
    )
    for one in found:
        for row in validation.worst(one.rows, _SHOWN):
            at = row.place
            what = f"{at.kind} {at.lock}, {at.writes:.0%} writes, {at.threads} threads"
            band = f"{si(row.predicted.low)}-{si(row.predicted.high)}"
            console.print(
                f"outside its band: {what}: {band} predicted, {si(row.measured.middle)}/s measured", style="dim"
            )


def _summary(one: Validation) -> dict[str, Any]:
    return {
        "machine": one.title,
        "predicted_at": one.about["predicted_at"],
        "measured_at": one.about["measured_at"],
        **asdict(one.score),
        "outside": [{**asdict(row.place), "error": row.error} for row in one.rows if not row.is_inside],
    }


def _subjects(program: Path, request: Request) -> list[Subject]:
    known = model.known_locks(program)
    if request.rwlocks or request.mutexes:
        return list(model.subjects(known, request.rwlocks, request.mutexes))
    return [Subject(name, kind) for kind in _WRITES for name in known[kind]]


def _machine(paths: Paths, file: str | None) -> tuple[dict[str, Any], machines.Machine]:
    """The machine file as a table, and what it says."""
    with tempfile.TemporaryDirectory() as folder:
        if file is None:
            print("lockswap: measuring this machine, as 'lockswap machine' does", file=sys.stderr)
            file = f"{folder}/this-machine.toml"
            text = tomli_w.dumps(machine_file.measure(paths), multiline_strings=True)
            Path(file).write_text(text, encoding="utf-8")
        machine = machines.find(places.machines(paths), file)
        table = tomllib.loads(Path(file).read_text(encoding="utf-8")) if file.endswith(".toml") else {}
    if "latency_table" not in table:
        raise UserError(
            f"--validate measures this machine, so {file} won't do: give --machine a file that 'lockswap machine' "
            "wrote here, or drop it"
        )
    return table, machine


def _predict(
    paths: Paths,
    program: Path,
    machine: machines.Machine,
    subjects: Sequence[Subject],
    threads: tuple[int, ...],
    floor: float,
    request: Request,
) -> tuple[dict[Place, Band], Coverage]:
    """The benchmark's own loop, which was measured, is work outside the lock."""
    plain = workloads.find(places.workloads(paths), WORKLOAD)
    workload = replace(plain, step_ns=(floor, floor), outside_steps=1)
    found: dict[Place, Band] = {}
    covered: list[Coverage] = []
    for kind, shares in _WRITES.items():
        of_kind = tuple(subject for subject in subjects if subject.kind == kind)
        for writes in shares if of_kind else ():
            question = model.Question(
                machine, workload, writes, of_kind, threads, request.draws, request.virtual_ms * 1e6
            )
            points = model.ask(program, question)
            covered.append(Claims.of(points).covered)
            for point in points:
                found[Place(point.subject.lock, kind, writes, point.threads)] = point.band
    return found, Coverage.sum(covered)


def _write(out: Path, text: str) -> None:
    try:
        durable.replace(out, text)
    except OSError as error:
        raise UserError(cannot_write(out, error)) from error


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
