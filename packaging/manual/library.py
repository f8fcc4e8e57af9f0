"""Section 7: the page of the library, put together from the Markdown pages by a template.

A line of the template that begins with @ stands for blocks of a page's section: their kind (paragraph, list, table, or
all), FILE#ANCHOR, and, behind a colon, what each block of them must contain. `@exports FILE` stands for the functions
that the library exports.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from markdown import ALL, PARSER, add, inline, rows_of, section_of
from page import BOLD, Page, Span, see_also

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = Path(__file__).with_name("liblockswap.7.in")
INCLUDE = re.compile(r"@(paragraph|list|table|all|exports) ([^#\s]+)(?:#(\S+))?(?: : (.+))?$")
VARIABLES = (ROOT / "docs/locks.md", "variables")


def page(related: list[tuple[str, int]]) -> Page:
    summary, _, rest = TEMPLATE.read_text(encoding="utf-8").partition("\n")
    found = Page("liblockswap", 7, summary)
    for block in re.split(r"\n{2,}", rest.strip("\n")):
        _add(found, block)
    found.heading("See also")
    found.paragraph(see_also(related))
    return found


def _add(page: Page, block: str) -> None:
    if block.startswith("### "):
        page.subheading(block.removeprefix("### "))
    elif block.startswith("## "):
        page.heading(block.removeprefix("## "))
    elif block.startswith("@"):
        for line in block.splitlines():
            _include(page, line)
    else:
        add(page, block)


def _include(page: Page, line: str) -> None:
    match = INCLUDE.fullmatch(line)
    if match is None:
        raise SystemExit(f"{TEMPLATE}: '{line}' is no line of an @ command")
    kind, file, anchor, words = match.groups()
    if kind == "exports":
        for title, names in exports(ROOT / file):
            page.item([Span(title)], [[Span(", ".join(names), BOLD)]])
        return
    text = section_of(ROOT / file, anchor or "")
    if words:
        text = "\n\n".join(one for one in _blocks(text) if words in one.replace("`", ""))
        if not text:
            raise SystemExit(f"{TEMPLATE}: {file}#{anchor} has no '{words}' any more")
    add(page, text, ALL if kind == "all" else (kind,))


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs, and each item of a list."""
    for block in re.split(r"\n{2,}", text):
        yield from re.split(r"\n(?=- )", block)


def exports(file: Path) -> Iterator[tuple[str, list[str]]]:
    """The functions of the preload library, in the groups of the list."""
    title, names = "", []
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            if names:
                yield title, names
                names = []
            title = line.removeprefix("# ").partition(".")[0]
        elif (words := line.split()) and len(words) > 2 and "lockswap" in words[2].split(","):
            names += [words[0]] if words[0] not in names else []
    if names:
        yield title, names


def variables() -> dict[str, list[list[Span]]]:
    """What each variable does, and its values and default, from the table of variables."""
    blocks = PARSER.parse(section_of(*VARIABLES))
    start = next(number for number, token in enumerate(blocks) if token.type == "table_open")
    _, *rows = rows_of(blocks[start : next(n for n, token in enumerate(blocks) if token.type == "table_close") + 1])
    found = {}
    for name, values, default, what in rows:
        said = [what, [*inline("*values*: "), *values], [*inline("*default*: "), *default]]
        found["".join(span.text for span in name)] = said
    return found
