"""What the model answered to the questions of a page: asked as often as the statements need, and kept in the page's
folder, so that a page that was interrupted goes on where it stopped."""

import hashlib
import json
import resource
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from lockswap.base.errors import UserError, cannot_write
from lockswap.predict.bands import Point, Subject
from lockswap.predict.runs import Question, Run
from lockswap.records import durable

# Draws after which a question is settled if they all say the same to each statement. A rule that holds in half of all
# draws looks settled by six of them in three cases of a hundred.
FEW = 6


class Answers:
    def __init__(self, folder: Path, program: Path, run: Callable[[Question], list[Run]]) -> None:
        self._folder, self._run = folder, run
        # Another model may answer something else.
        self._version = hashlib.sha256(program.read_bytes()).hexdigest()

    def points(self, name: str, question: Question, is_settled: Callable[[Sequence[Point]], bool]) -> list[Point]:
        few = replace(question, draws=min(FEW, question.draws))
        runs = self._ask(name, few)
        points = [run.point for run in runs]
        if few.draws == question.draws or is_settled(points):
            return points
        more = self._ask(name, replace(question, draws=question.draws - few.draws, first_draw=few.draws))
        return [replace(run, draws=run.draws + other.draws).point for run, other in zip(runs, more, strict=True)]

    def _ask(self, name: str, question: Question) -> list[Run]:
        """As the folder has it, or else from the model."""
        file = self._folder / f"{name}-{question.first_draw}.json"
        asked = hashlib.sha256(f"{self._version} {question!r}".encode()).hexdigest()
        if runs := _kept(file, asked):
            return runs
        before = _children_s()
        runs = self._run(question)
        said = {"asked": asked, "cpu_s": round(_children_s() - before, 1), "runs": list(map(_as_json, runs))}
        try:
            durable.replace(file, json.dumps(said))
        except OSError as error:
            raise UserError(cannot_write(file, error)) from None
        return runs


def _kept(file: Path, asked: str) -> list[Run]:
    """Nothing if the file has the answer to something else, or isn't one of ours."""
    try:
        said = json.loads(file.read_text(encoding="utf-8"))
        return [_run(one) for one in said["runs"]] if said["asked"] == asked else []
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _as_json(run: Run) -> dict:
    return {"lock": run.subject.lock, "kind": run.subject.kind, "threads": run.threads, "draws": run.draws}


def _run(one: dict) -> Run:
    return Run(Subject(one["lock"], one["kind"]), one["threads"], tuple(one["draws"]))


def _children_s() -> float:
    """Processor time of the model's programs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
