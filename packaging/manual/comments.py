"""What the public headers say at their heads, and in the comments between their functions."""

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from page import BOLD, Page, Span

GROUP = re.compile(r"^/\* --- (.*?)\*/$", re.MULTILINE | re.DOTALL)


def head_of(header: Path) -> str:
    """The comment that a header begins with, without the marks of a comment."""
    text = header.read_text(encoding="utf-8")
    if text.startswith("/*"):
        lines = text[: text.index("*/")].splitlines()
        return "\n".join(re.sub(r"^(/\*\*? ?| \* ?)", "", line) for line in lines)
    lines = [line for line in text.split("\n#pragma once")[0].splitlines() if line.startswith("//")]
    return "\n".join(re.sub(r"^///? ?", "", line) for line in lines)


def blocks_of(comment: str) -> list[str]:
    """Its paragraphs and its blocks of code; a block keeps its indentation. The name of the file is left out."""
    comment = re.sub(r"^@file\s*", "", comment.strip("\n"))
    found: list[str] = []
    for paragraph in re.split(r"\n\s*\n", comment):
        found += _split(textwrap.dedent(paragraph) if not found else paragraph)
    return [block for block in found if block.strip()]


def _split(paragraph: str) -> Iterator[str]:
    """A paragraph, or several items with a hanging indentation: 'Order: that store is ...'. What is indented further
    than the text of an item is code."""
    if paragraph.startswith(" "):
        yield paragraph
        return
    lines: list[str] = []
    for line in paragraph.splitlines():
        if lines and _begins_block(line, lines):
            yield "\n".join(lines)
            lines = []
        lines.append(line if line.startswith("    ") else line.lstrip() if not lines else line)
    yield "\n".join(lines)


def _begins_block(line: str, lines: list[str]) -> bool:
    """Whether a line that follows these begins a block of its own."""
    if re.match(r"[A-Z][\w ]{1,18}: |  [a-z][\w-]*: ", line):
        return True
    is_inside = re.match(r"[a-z-]+: ", lines[0])  # an item in an item, whose text is indented by four
    return line.startswith("    ") != lines[-1].startswith("    ") and not is_inside


def is_code(block: str) -> bool:
    return block.startswith("  ")


def add(page: Page, block: str) -> None:
    """Show one block."""
    if is_code(block):
        page.code(textwrap.dedent(block).splitlines())
    else:
        page.paragraph(spans_of(" ".join(block.split())))


def spans_of(text: str) -> list[Span]:
    """A text with a bold lead ('Fork. In the child ...', 'Paper: ...') and functions in bold."""
    lead = re.match(r"([A-Z][^.:()]{2,27}\.)(?= [A-Z])|([A-Z][\w ]{1,18}:|[a-z][a-z-]*:)(?= )", text)
    end = lead.end() if lead else 0
    return [Span(text[:end], BOLD), *_literal(text[end:])] if lead else _literal(text)


def _literal(text: str) -> list[Span]:
    """Functions, signs in backquotes and names in capitals with underscores are bold."""
    found: list[Span] = []
    place = 0
    for match in re.finditer(r"`([^`]+)`|\b(?:lockswap_\w+|LOCKSWAP_\w+)(?:\(\))?", text):
        found += [Span(text[place : match.start()]), Span(match[1] or match[0], BOLD)]
        place = match.end()
    return [*found, Span(text[place:])]


def groups_of(header: Path) -> list[tuple[int, str, str]]:
    """The comments between functions that begin a group: line, title, and what is said of the group."""
    text = header.read_text(encoding="utf-8")
    found = []
    for match in GROUP.finditer(text):
        said = " ".join(re.sub(r"\n \*", "\n", match[1]).replace("`", "").split())
        title, _, rest = said.partition(". ")
        line = text.count("\n", 0, match.start()) + 1
        found.append((line, title.partition(":")[0].rstrip("."), rest))
    return found
