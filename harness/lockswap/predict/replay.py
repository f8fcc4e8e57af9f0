"""`lockswap predict --replay`: how a recorded program would do with other locks, on a machine that isn't here."""

import json
import os
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

from rich.table import Table

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.base.text import plural, share, si, time
from lockswap.predict import bands, claims, machines, model, places, recorded, scheduling
from lockswap.predict.draws import Draw
from lockswap.predict.machines import Machine
from lockswap.predict.model import GLIBCS
from lockswap.predict.recorded import Recorded
from lockswap.predict.runs import transfers
from lockswap.predict.workloads import Workload
from lockswap.report.console import Output

# The draws take this many parts of a long record in turn.
MOST_WINDOWS = 20


@dataclass(frozen=True)
class Request:
    record: Path
    machine: str
    rwlocks: tuple[str, ...]
    mutexes: tuple[str, ...]
    draws: int
    calls: int  # acquisitions of a part
    as_json: bool


@dataclass(frozen=True)
class Choice:
    """What runs under the program."""

    rwlock: str = GLIBCS
    mutex: str = GLIBCS

    def __str__(self) -> str:
        if self.mutex != GLIBCS:
            return f"mutex:{self.mutex}"
        return self.rwlock


@dataclass(frozen=True)
class Replayed:
    point: bands.Point
    in_calls: float  # share of the threads' time in lock calls, the median
    unfinished: int  # draws in which threads waited for each other
    ratios: bands.Band  # of its speed to that of glibc's locks, draw by draw


@dataclass(frozen=True)
class Question:
    record: Recorded
    machine: Machine
    choices: tuple[Choice, ...]
    draws: int
    calls: int

    @property
    def windows(self) -> int:
        return max(1, min(MOST_WINDOWS, self.draws, self.record.acquisitions // self.calls))


def run(paths: Paths, request: Request) -> None:
    if not request.rwlocks and not request.mutexes:
        raise UserError("name locks to replay with: --rwlock ba,bravo-ba, or --mutex mcs,cohort")
    machine = machines.find(places.machines(paths), request.machine)
    record = recorded.find(paths, request.record)
    program = places.program(paths)
    choices = _choices(record, model.known_locks(program), request)
    question = Question(record, machine, choices, request.draws, request.calls)
    parts = _describe(program, question)
    _refuse_more_threads_than_processors(question, parts)
    found = _replay(program, question)
    made = claims.Claims.of([one.point for one in found if not one.unfinished])
    if request.as_json:
        print(json.dumps(_as_json(question, parts, found, made), indent=1))
    else:
        _print(question, parts, found, made)


def _choices(record: Recorded, known: dict[str, list[str]], request: Request) -> tuple[Choice, ...]:
    asked = (("rwlock", request.rwlocks, record.rwlocks), ("mutex", request.mutexes, record.mutexes))
    choices = [Choice()]
    for kind, names, used in asked:
        if names and not used:
            word = model.IN_WORDS[kind]
            raise UserError(f"{record.file}: the program acquired no {word}, so --{kind} changes nothing; drop it")
        for name in names:
            if name != GLIBCS:
                model.check_known(known, kind, name)
            choices.append(Choice(**{kind: name}))
    return tuple(dict.fromkeys(choices))


def _refuse_more_threads_than_processors(question: Question, parts: list[dict]) -> None:
    threads, machine = max(part["threads"] for part in parts), question.machine
    if threads > machine.processors:
        raise UserError(
            f"{question.record.file}: {threads} threads ran at once, but {machine.name} has only {machine.processors} "
            "hardware threads, and a replay needs one for each: choose a larger machine, or record with fewer threads"
        )


def _window(question: Question, number: int) -> str:
    return f"window {number % question.windows} {question.windows} {question.calls}\n"


def _describe(program: Path, question: Question) -> list[dict]:
    text = "".join(_window(question, n) + "describe\n" for n in range(question.windows))
    return _session(program, question, text)


def _session(program: Path, question: Question, text: str) -> list[dict]:
    return model.answers(program, f"record {question.record.file.absolute()}\n{text}")


def _replay(program: Path, question: Question) -> list[Replayed]:
    """Each process reads the record once, and replays it for every so many-th draw."""
    workers = min(os.cpu_count() or 1, question.draws)
    mine = [range(first, question.draws, workers) for first in range(workers)]
    tail = "".join(f"replay {choice.rwlock} {choice.mutex}\n" for choice in question.choices)

    def one(draws: range) -> list[dict]:
        return _session(program, question, "".join(_draw(question, n) + tail for n in draws))

    by_draw: list[list[dict]] = [[]] * question.draws
    with ThreadPoolExecutor(workers) as pool:
        for draws, lines in zip(mine, pool.map(one, mine), strict=True):
            each = len(question.choices)
            for place, n in enumerate(draws):
                by_draw[n] = lines[place * each : (place + 1) * each]
    return [_replayed(question, by_draw, number) for number in range(len(question.choices))]


def _draw(question: Question, number: int) -> str:
    """What isn't known of the machine is drawn as for other workloads, and how fast it works and sleeps besides."""
    rng = random.Random(f"replay {question.machine.name} {number}")
    costs = scheduling.sleeping(question.machine, rng)
    return (
        Draw.of(question.machine, Workload("replay", "a recorded program"), 0.0, number).text
        + "".join(f"cost {name} {value:.0f}\n" for name, value in costs.items())
        + f"pace {rng.lognormvariate(0, 0.15):.3f}\n"
        + _window(question, number)
    )


def _replayed(question: Question, by_draw: list[list[dict]], number: int) -> Replayed:
    mine = [draw[number] for draw in by_draw]
    rates = tuple(_rate(one) for one in mine)
    ratios = [_rate(draw[number]) / _rate(draw[0]) for draw in by_draw]
    threads = question.record.threads
    subject = bands.Subject(str(question.choices[number]), "replay")
    point = bands.Point(subject, threads, rates, median(transfers(one) / one["acquisitions"] for one in mine))
    return Replayed(
        point,
        median(one["in_calls_ns"] / max(1, one["thread_ns"]) for one in mine),
        sum(not one["finished"] for one in mine),
        bands.Band.of(ratios),
    )


def _rate(one: dict) -> float:
    """Acquisitions a second."""
    return one["acquisitions"] / one["ns"] * 1e9


def _caveats(question: Question, parts: list[dict], found: list[Replayed]) -> list[str]:
    record = question.record
    waits = sum(part["timed"] for part in parts)
    signals = sum(part["signals"] for part in parts)
    elsewhere = sum(part["preempted_ns"] for part in parts)
    lines = [
        "The replay makes the recorded calls, even if the program would have made others with another lock. Work "
        "takes as long as in the record, times a random factor; how long threads poll is random, too.",
        "glibc's locks are models, too, written from its published algorithms.",
    ]
    if record.full:
        lines.append(f"The record was full after {time(record.seconds * 1e9)}, so nothing later is replayed.")
    if signals:
        lines.append("A thread that waited for a condition continues at the signal that woke it in the record.")
    if waits:
        lines.append(f"{plural(waits, 'wait')} for a condition had no recorded signal, so each lasts as in the record.")
    if record.failed:
        lines.append(
            f"{plural(record.failed, 'attempt')} to acquire a lock failed in the record, and what the program did then "
            "is replayed."
        )
    if elsewhere:
        lines.append(f"While recording, threads waited {time(elsewhere)} for a processor; this time is left out.")
    lines += [
        f"{one.point.subject}: nothing is claimed, because the recorded order of calls is impossible with it in "
        f"{one.unfinished} of {question.draws} draws: threads wait for each other for ever."
        for one in found
        if one.unfinished
    ]
    return lines


def _print(question: Question, parts: list[dict], found: list[Replayed], made: claims.Claims) -> None:
    record, console = question.record, Output(highlight=False, emoji=False)
    threads = max(part["threads"] for part in parts)
    console.print(
        f"[bold]Modelled[/], not measured: {record.program} with {plural(threads, 'thread')} at once, replayed "
        f"on {question.machine.title}"
    )
    table = Table(box=None, pad_edge=False)
    for heading in ("acquisitions/s", "", "90 %", f"to {GLIBCS}", "90 %", "in calls"):
        table.add_column(heading, justify="left" if heading == "acquisitions/s" else "right", no_wrap=True)
    for one in found:
        band, ratio = one.point.band, one.ratios
        against = ("", "") if one is found[0] else (f"{ratio.middle:.2f}x", f"{ratio.low:.2f}-{ratio.high:.2f}")
        table.add_row(
            str(one.point.subject), si(band.middle), f"{si(band.low)}-{si(band.high)}", *against, share(one.in_calls)
        )
    console.print(table)
    for claim in made.made:
        console.print(f"{claim.faster} is faster than {claim.slower}: {claim.ratio:.1f} times")
    if not made.made:
        console.print("No lock is claimed to be faster than another.")
    for line in _caveats(question, parts, found):
        console.print(line, style="dim")
    part = f"{plural(question.windows, 'part')} of {si(question.calls)} acquisitions" if question.windows > 1 else "all"
    console.print(
        f"{question.draws} draws replay {part} of the record. docs/predict.md says what the model leaves out.",
        style="dim",
    )


def _as_json(question: Question, parts: list[dict], found: list[Replayed], made: claims.Claims) -> dict:
    record = asdict(replace(question.record, file=question.record.file.name))
    return {
        "modelled": True,
        "machine": question.machine.name,
        "sources": list(question.machine.sources),
        "record": record,
        "draws": question.draws,
        "parts": parts,
        "choices": [
            {
                "choice": str(one.point.subject),
                **asdict(one.point.band),
                "against_glibc": asdict(one.ratios),
                "in_calls": one.in_calls,
                "transfers": one.point.transfers,
                "unfinished": one.unfinished,
            }
            for one in found
        ],
        "claims": [asdict(claim) for claim in made.made],
        "coverage": made.covered.share,
        "caveats": _caveats(question, parts, found),
    }
