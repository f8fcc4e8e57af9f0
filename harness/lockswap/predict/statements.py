"""What papers say of how locks scale, and whether the model agrees: predict/statements.toml."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
            raise UserError(f"'{text}' is not a rule: write it like 'ba@36 / pf-t@36 >= 1.1'")
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
    ranges: tuple[str, ...] = ()  # range locks
    designs: tuple[str, ...] = ()  # of address spaces, which another program of the model has
    maps: tuple[str, ...] = ()  # pairs of indexes for reverse maps; the same program
    sets: tuple[str, ...] = ()  # lists and hash tables; the same
    program: str = ""  # of their threads, if it isn't the workload's
    mapping: float | None = None  # the same of a thread's share of mappings
    virtual_ms: float = 2

    @property
    def subjects(self) -> tuple[Subject, ...]:
        by_kind = {
            "rwlock": self.rwlocks,
            OWN_TABLE: self.own_table,
            "range": self.ranges,
            "design": self.designs,
            "map": self.maps,
            "set": self.sets,
        }
        return tuple(Subject(name, kind) for kind, names in by_kind.items() for name in names)

    @property
    def is_of_structures(self) -> bool:
        return bool(self.designs or self.maps or self.sets)

    @property
    def changes(self) -> dict[str, object]:
        """Of the workload."""
        given = {"program": self.program or None, "mapping": self.mapping}
        return {key: value for key, value in given.items() if value is not None}


@dataclass(frozen=True)
class Statement:
    name: str
    paper: str
    where: str
    says: str
    question: str
    rules: tuple[Rule, ...]
    seen: bool = False  # it was compared before, with other runs of the model


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
    """With `again`, the statements of that file come first: seen before, and asked with the `virtual_ms` given here."""
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    before = _again(read(file.parent / table["again"]), table["virtual_ms"]) if "again" in table else Book({}, {}, ())
    papers = {**before.papers, **table["papers"]}
    questions = {
        **before.questions,
        **{name: Asked(name, **_tuples(entry)) for name, entry in table["question"].items()},
    }
    statements = tuple(
        Statement(**{**entry, "rules": tuple(map(Rule.of, entry["rules"]))}) for entry in table["statement"]
    )
    for one in statements:
        if one.question not in questions or one.paper not in papers:
            raise UserError(f"{file}: statement '{one.name}' names a question or a paper that isn't there")
    return Book(papers, questions, before.statements + statements)


def _again(book: Book, virtual_ms: Mapping[str, float]) -> Book:
    longer = {name: replace(book.questions[name], virtual_ms=ms) for name, ms in virtual_ms.items()}
    return Book(book.papers, {**book.questions, **longer}, tuple(replace(one, seen=True) for one in book.statements))


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
            raise UserError(f"statement '{statement.name}': {rule.bottom[0]} did no operation: raise --virtual")
        agree = sum(map(rule.holds, ratios)) / len(ratios)
        outcomes.append(Outcome(statement, rule, Band.of(ratios), agree))
    return outcomes


def _tuples(entry: dict) -> dict:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
