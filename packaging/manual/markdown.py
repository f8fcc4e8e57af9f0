"""Parts of the pages in Markdown, as parts of a manual page. The parser is markdown-it, that of `rich`."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from page import BOLD, ITALIC, ROMAN, Page, Span, folded

PARSER = MarkdownIt("commonmark").enable("table")
ALL = ("paragraph", "list", "table", "code")
# A reference alone in parentheses: it says nothing where it leads nowhere.
ASIDE = re.compile(r" \(\[[^\]]*\]\([^)]*\)\)")


def section_of(file: Path, anchor: str) -> str:
    """The text from the heading with this anchor to the next heading; without an anchor, that of the first heading."""
    text = file.read_text(encoding="utf-8")
    parts = re.split(r"^(#+ .*)\n", text, flags=re.MULTILINE)
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        if not anchor or anchor_of(heading) == anchor:
            return body
    raise SystemExit(f"{file} has no heading #{anchor}")


def anchor_of(heading: str) -> str:
    words = re.sub(r"[^\w\- ]", "", heading.lstrip("#").strip().lower())
    return words.replace(" ", "-")


def add(page: Page, text: str, kinds: Sequence[str] = ALL) -> None:
    """Add those blocks of the text that are of these kinds."""
    _add_blocks(page, PARSER.parse(ASIDE.sub("", text)), kinds)


def _add_blocks(page: Page, blocks: Sequence[Token], kinds: Sequence[str] = ALL) -> None:
    place = 0
    while place < len(blocks):
        end = _end_of(blocks, place)
        _add_block(page, blocks[place : end + 1], kinds)
        place = end + 1


def _end_of(blocks: Sequence[Token], place: int) -> int:
    """Where the block ends that begins at this place."""
    depth = 0
    for number in range(place, len(blocks)):
        depth += blocks[number].nesting
        if depth == 0:
            return number
    raise AssertionError("blocks are balanced")


def _add_block(page: Page, block: Sequence[Token], kinds: Sequence[str]) -> None:
    kind = block[0].type
    if kind == "paragraph_open" and "paragraph" in kinds:
        page.paragraph(spans_of(block[1]))
    elif kind in ("bullet_list_open", "ordered_list_open") and "list" in kinds:
        _add_list(page, block)
    elif kind == "table_open" and "table" in kinds:
        _add_table(page, block)
    elif kind in ("code_block", "fence") and "code" in kinds:
        page.code(line for row in block[0].content.splitlines() for line in folded(row))


def _add_list(page: Page, block: Sequence[Token]) -> None:
    """Items of one level; what is below an item is indented."""
    place, number = 1, 0
    while place < len(block) - 1:
        end = _end_of(block, place)
        inside = block[place + 1 : end]
        number += 1
        mark = "\\(bu" if block[0].type == "bullet_list_open" else f"{number}."
        page.bullet(mark, spans_of(inside[1]))
        if len(inside) > 3:
            page.indent()
            _add_blocks(page, inside[3:])
            page.outdent()
        place = end + 1


def _add_table(page: Page, block: Sequence[Token]) -> None:
    """A list of tags: a terminal is too narrow for a table of sentences."""
    heads, *rows = rows_of(block)
    if any(font == BOLD for _, font in heads[0]):  # the first column has values of this
        page.paragraph([*heads[0], Span(": "), *heads[1], Span(":")])
    for first, *rest in rows:
        page.item(literal_first(first), _cells(heads[1:], rest))


def _cells(heads: Sequence[Sequence[Span]], cells: Sequence[Sequence[Span]]) -> Iterator[list[Span]]:
    """The other columns: first what it is, and then what its head introduces."""
    labelled = []
    for head, cell in zip(heads, cells, strict=True):
        label = "".join(span.text for span in head)
        if not any(span.text.strip() for span in cell):
            continue
        if len(heads) == 1 or not label or label.startswith("what"):
            yield list(cell)
        else:
            labelled.append([Span(label, ITALIC), Span(": "), *cell])
    yield from labelled


def rows_of(block: Sequence[Token]) -> Iterator[list[list[Span]]]:
    """The cells of each row of a table, its head first."""
    row: list[list[Span]] = []
    for token in block:
        if token.type == "tr_open":
            row = []
        elif token.type == "inline":
            row.append(spans_of(token))
        elif token.type == "tr_close":
            yield row


def literal_first(spans: Sequence[Span]) -> list[Span]:
    """A tag without a bold word becomes bold."""
    if any(font == BOLD for _, font in spans):
        return list(spans)
    return [Span(text, BOLD) for text, _ in spans]


def spans_of(inline: Token) -> list[Span]:
    """A link is only its text: what it leads to is on another page, or in the tree."""
    fonts = [ROMAN]
    found: list[Span] = []
    for token in inline.children or ():
        if token.type in ("strong_open", "em_open"):
            fonts.append(BOLD if token.type == "strong_open" else ITALIC)
        elif token.type in ("strong_close", "em_close"):
            fonts.pop()
        elif token.type == "code_inline":
            found.append(Span(token.content, BOLD))
        elif token.type in ("softbreak", "hardbreak"):
            found.append(Span("\n"))
        elif token.type == "text":
            found.append(Span(token.content, fonts[-1]))
    return list(_joined(found))


def _joined(spans: Iterable[Span]) -> Iterator[Span]:
    """Neighbours of one font become one span."""
    last: Span | None = None
    for span in spans:
        if last and last.font == span.font:
            last = Span(last.text + span.text, span.font)
            continue
        if last:
            yield last
        last = span
    if last:
        yield last


def inline(text: str) -> list[Span]:
    """A line of Markdown."""
    return spans_of(PARSER.parseInline(text)[0])
