"""What papers say of how locks scale, and whether the model agrees: predict/statements.toml."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lockswap.base.errors import UserError
from lockswap.predict.bands import OWN_TABLE, Band, Point, Subject

_RULE = re.compile(r"(\S+)@(\d+) / (\S+)@(\d+) (>=|<=) (\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class Rule:
    """Bounds the ratio of two points' operations per second."""

    text: str
    top: tuple[str, int]
    bottom: tuple[str, int]
    is_least: bool
    bound: float

    @classmethod
    def of(cls, text: str) -> "Rule":
        found = _RULE.fullmatch(text)
        if not found:
            raise UserError(f"'{text}' is no rule; write it like 'ba@36 / pf-t@36 >= 1.1'")
        top, n, bottom, m, sign, bound = found.groups()
        return cls(text, (top, int(n)), (bottom, int(m)), sign == ">=", float(bound))

    def holds(self, ratio: float) -> bool:
        return ratio >= self.bound if self.is_least else ratio <= self.bound


@dataclass(frozen=True)
class Asked:
    """What the model runs: a machine and a workload by their names."""

    name: str
    machine: str
    workload: str
    threads: tuple[int, ...]
    writes: float = 0
    rwlocks: tuple[str, ...] = ()
    own_table: tuple[str, ...] = ()  # under BRAVO, with a readers table for each lock
    virtual_ms: float = 2

    @property
    def subjects(self) -> tuple[Subject, ...]:
        return (*(Subject(name, "rwlock") for name in self.rwlocks), *(Subject(n, OWN_TABLE) for n in self.own_table))


@dataclass(frozen=True)
class Statement:
    name: str
    paper: str
    where: str
    says: str
    question: str
    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class Book:
    papers: Mapping[str, str]
    questions: Mapping[str, Asked]
    statements: tuple[Statement, ...]


@dataclass(frozen=True)
class Outcome:
    """What a rule's ratio is, as a band, and in what share of the draws the rule holds."""

    statement: Statement
    rule: Rule
    ratio: Band
    agree: float

    @property
    def holds(self) -> bool:
        return self.rule.holds(self.ratio.middle)


def read(file: Path) -> Book:
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    questions = {name: Asked(name, **_tuples(entry)) for name, entry in table["question"].items()}
    statements = tuple(
        Statement(**{**entry, "rules": tuple(map(Rule.of, entry["rules"]))}) for entry in table["statement"]
    )
    for one in statements:
        if one.question not in questions or one.paper not in table["papers"]:
            raise UserError(f"{file}: statement '{one.name}' names a question or a paper that isn't there")
    return Book(table["papers"], questions, statements)


def judge(statement: Statement, points: Sequence[Point]) -> list[Outcome]:
    """An outcome for each rule. Draw by draw, since what isn't known of the machine is the same for both points."""
    found = {(str(p.subject), p.threads): p for p in points}
    outcomes = []
    for rule in statement.rules:
        for where in (rule.top, rule.bottom):
            if where not in found:
                raise UserError(f"statement '{statement.name}': its question has no {where[0]}@{where[1]}")
        pairs = zip(found[rule.top].rates, found[rule.bottom].rates, strict=True)
        ratios = [a / b for a, b in pairs if b > 0]
        if not ratios:
            raise UserError(f"statement '{statement.name}': {rule.bottom[0]} has done nothing; give --virtual more")
        agree = sum(map(rule.holds, ratios)) / len(ratios)
        outcomes.append(Outcome(statement, rule, Band.of(ratios), agree))
    return outcomes


def _tuples(entry: dict) -> dict:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
