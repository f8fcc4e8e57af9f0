"""Runs lockswap-model for each draw, and collects what it prints."""

import json
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lockswap.base.errors import UserError
from lockswap.base.nearest import unknown
from lockswap.predict import scheduling
from lockswap.predict.bands import Point, Subject
from lockswap.predict.draws import Draw
from lockswap.predict.runs import Question, Run

# The locks that programs have without lockswap, as the model names them.
GLIBCS = "pthread"
IN_WORDS = {"rwlock": "reader-writer lock", "mutex": "mutex"}


def ask(program: Path, question: Question) -> list[Point]:
    return [one.point for one in run(program, question)]


def run(program: Path, question: Question) -> list[Run]:
    """All runs; draws go on side by side on the processors that are here."""
    runs = [(subject, threads) for subject in question.subjects for threads in question.threads]
    polling = [run for run in runs if not question.shares(run[1])]
    sleeping = [run for run in runs if question.shares(run[1])]

    def one(seed: int) -> dict[tuple[Subject, int], dict]:
        text = Draw.of(question.machine, question.workload, question.writes, seed).text
        text += _lines(question, polling, "poll")
        if sleeping:
            text += scheduling.sharing(question.machine, seed) + _lines(question, sleeping, "sleep")
        return dict(zip(polling + sleeping, answers(program, text), strict=True))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        by_draw = list(pool.map(one, range(question.first_draw, question.first_draw + question.draws)))
    return [Run(*where, tuple(found[where] for found in by_draw)) for where in runs]


def _lines(question: Question, runs: Sequence[tuple[Subject, int]], how: str) -> str:
    return "".join(
        f"run {subject.lock} {subject.kind} {how} {threads} {_lasts_ns(question, threads):.0f}\n"
        for subject, threads in runs
    )


def _lasts_ns(question: Question, threads: int) -> float:
    if not question.shares(threads):
        return question.virtual_ns
    return max(question.virtual_ns, scheduling.long_enough_ns(question.machine, threads))


def answers(program: Path, text: str) -> list[dict]:
    """What the program says to these lines."""
    done = subprocess.run([program], input=text, capture_output=True, text=True)
    if done.returncode != 0:
        raise UserError(done.stderr.strip() or f"{program} ended with status {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def known_locks(program: Path) -> dict[str, list[str]]:
    """By kind, as the model has them."""
    done = subprocess.run([program], input="list\n", capture_output=True, text=True, check=True)
    found: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        kind, name = line.split()
        found.setdefault(kind, []).append(name)
    return found


def subjects(known: Mapping[str, list[str]], rwlocks: Iterable[str], mutexes: Iterable[str]) -> tuple[Subject, ...]:
    asked = [("rwlock", name) for name in rwlocks] + [("mutex", name) for name in mutexes]
    for kind, name in asked:
        check_known(known, kind, name)
    return tuple(Subject(name, kind) for kind, name in asked)


def check_known(known: Mapping[str, Sequence[str]], kind: str, name: str) -> None:
    if name not in known[kind]:
        raise unknown(IN_WORDS[kind], name, known[kind], "lockswap list")
