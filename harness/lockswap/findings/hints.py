"""A warning that teaches: in full, with cause and cure, and in a line."""

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

# What a line has room for in a terminal of 80 columns, less its mark.
_LINE = 78


@dataclass(frozen=True)
class Hint:
    brief: str  # begins a line; without a full stop
    text: str
    where: tuple[str, ...] = ()  # which workloads it concerns, if not all

    def __str__(self) -> str:
        return self.text


def recorded(text: str) -> Hint:
    """One that a campaign wrote down while it ran: its first sentence is the line."""
    return Hint(textwrap.shorten(text.partition(". ")[0].removesuffix("."), _LINE, placeholder=" ..."), text)


def folded(hints: Iterable[Hint]) -> list[str]:
    """A line each; those that say the same of several workloads share one."""
    where: dict[str, dict[str, None]] = {}
    for hint in hints:
        where.setdefault(hint.brief, {}).update(dict.fromkeys(hint.where))
    return [_line(brief, list(names)) for brief, names in where.items()]


def _line(brief: str, names: list[str]) -> str:
    """With as many names as there is room for."""
    for shown in range(len(names), 0, -1):
        rest = len(names) - shown
        more = [f"{rest} more"] if rest else []
        line = f"{brief} ({', '.join([*names[:shown], *more])})"
        if len(line) <= _LINE:
            return line
    return f"{brief} ({len(names)} workloads)" if names else brief
