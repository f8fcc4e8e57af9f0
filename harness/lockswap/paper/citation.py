"""CITATION.cff: lockswap, and the papers whose locks a campaign compared."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lockswap.base.choice import Choice
from lockswap.base.registry import Family, Lock, RangeLock, Registry
from lockswap.base.version import VERSION
from lockswap.paper.papers import ABSTRACT, AUTHORS, KEYWORDS, LICENSE, PAPERS, RELEASED, TITLE, Paper

_MESSAGE = "If you use lockswap in a publication, please cite it, and the papers of the locks that you measured."
_POLICY_LOCK = re.compile(r"\b(rwlock|mutex)=(\S+)")


def text(papers: Iterable[Paper] = (), version: str = VERSION, commit: str = "") -> str:
    """The file, in the Citation File Format 1.2.0. Its date is that of this version, if that was measured."""
    about: dict[str, Any] = {
        "cff-version": "1.2.0",
        "message": _MESSAGE,
        "title": TITLE,
        "abstract": ABSTRACT,
        "type": "software",
        "authors": [{"name": AUTHORS}],
        "version": version,
        **({"commit": commit} if re.fullmatch(r"[0-9a-f]{7,40}", commit) else {}),
        **({"date-released": RELEASED} if version == VERSION else {}),
        "license": LICENSE,
        "keywords": list(KEYWORDS),
    }
    references = [_reference(paper) for paper in papers]
    return "\n".join(_yaml(about | ({"references": references} if references else {}))) + "\n"


def papers_of(labels: Iterable[str], policies: Mapping[str, str], registry: Registry) -> list[Paper]:
    """The papers of these choices' locks, in the order of the list of papers."""
    sources = " ".join(source for name, locks in _named(labels, policies, registry) for source in _of(name, locks))
    return [paper for paper in PAPERS if paper.cited in sources]


Locks = tuple[Lock | RangeLock, ...]


def _named(labels: Iterable[str], policies: Mapping[str, str], registry: Registry) -> Iterator[tuple[str, Locks]]:
    """The names in the labels and in the rules of policies, each with the locks that it is one of."""
    for label in labels:
        choice = Choice.of(label)
        yield choice.rwlock, registry.rwlocks
        yield choice.mutex or "", registry.mutexes
        yield (choice.range_lock or "").partition(":")[0], registry.range_locks
        yield (choice.range_lock or "").partition(":")[2], registry.rwlocks
    for rules in policies.values():
        for kind, name in _POLICY_LOCK.findall(rules):
            yield name, registry.rwlocks if kind == "rwlock" else registry.mutexes


def _of(name: str, locks: Locks) -> Iterator[str]:
    """The source of a lock, and of those that it is made of or described by ('as NAME; ...')."""
    lock = next((one for one in locks if one.name == name), None)
    if lock is None:
        return
    yield lock.source
    if other := re.match(r"as ([\w-]+)", lock.source):
        yield from _of(other[1], locks)
    families: list[Family] = Registry.families(one for one in locks if isinstance(one, Lock))
    for family in families:
        if name in family.members:
            yield from _of(name.removeprefix(family.prefix), locks)


def _reference(paper: Paper) -> dict[str, Any]:
    people = [{"given-names": given, "family-names": family} for given, family in paper.people]
    where = {
        "article": {"journal": paper.place},
        "report": {"institution": {"name": paper.place}},
        "conference-paper": {"collection-title": f"{paper.place} {paper.year}"},
    }[paper.kind]
    doi = {"doi": paper.doi} if paper.doi else {}
    return {"type": paper.kind, "authors": people, "title": paper.title, "year": paper.year, **where, **doi}


def _yaml(data: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """The little of YAML that is needed: strings are quoted as in JSON, which YAML takes."""
    for key, value in data.items():
        if isinstance(value, list):
            yield f"{indent}{key}:"
            for one in value:
                if isinstance(one, Mapping):
                    first, *rest = _yaml(one, f"{indent}    ")
                    yield f"{indent}  - {first.strip()}"
                    yield from rest
                else:
                    yield f"{indent}  - {_quoted(one)}"
        elif isinstance(value, Mapping):
            yield f"{indent}{key}:"
            yield from _yaml(value, f"{indent}  ")
        else:
            yield f"{indent}{key}: {_quoted(value)}"


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
