"""Lines in columns for plain text: on a terminal no wider than it, in a pipe as long as they are."""

import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence

_GAP, _INDENT = "  ", "  "


def terminal_width() -> int | None:
    """None where stdout is no terminal: a pipe is not wrapped, whatever the terminal behind it is."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def aligned(rows: Iterable[Sequence[str]], width: int | None) -> list[str]:
    """A line a row, columns aligned; on a terminal the last column is cut, which '…' shows."""
    rows = [tuple(row) for row in rows]
    sizes = [max(len(row[place]) for row in rows) for place in range(len(rows[0]) - 1)] if rows else []
    lines = []
    for row in rows:
        cells = [cell.ljust(size) for cell, size in zip(row, sizes, strict=False)]
        line = (_INDENT + _GAP.join([*cells, row[-1]])).rstrip()
        lines.append(line if width is None or len(line) <= width else line[: width - 1].rstrip() + "…")
    return lines


def described(facts: Iterable[tuple[str, str]], width: int | None) -> list[str]:
    """A fact a line, with what it is of before it; wrapped under itself on a terminal. Empty facts are left out."""
    facts = [(name, text) for name, text in facts if text]
    size = max((len(name) for name, _ in facts), default=0)
    lines = []
    for name, text in facts:
        first = _INDENT + name.ljust(size) + _GAP
        lines += wrapped(text, width, first, " " * len(first))
    return lines


def wrapped(text: str, width: int | None, first: str = "", rest: str = "") -> list[str]:
    if width is None:
        return [first + text]
    options = {"break_long_words": False, "break_on_hyphens": False}
    return textwrap.wrap(text, max(width, len(first) + 20), initial_indent=first, subsequent_indent=rest, **options)
