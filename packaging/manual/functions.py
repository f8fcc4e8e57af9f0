"""Section 3: the public headers.

In C a page for each group of functions and one for what they share, in C++ one page for all.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import comments
from declarations import Declaration, Header
from page import BOLD, Page, Span, see_also

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


def pages(header: Header) -> Iterator[Page]:
    if header.is_cpp:
        yield _cpp_page(header)
        return
    groups = list(_groups(header))
    names = [(group[0].name, 3) for _, _, group in groups]
    yield _overview(header, groups)
    for title, said, functions in groups:
        yield _group_page(header, title, said, functions, names)


def overview_name(header: Header) -> str:
    stem = header.file.name if header.is_cpp else header.file.stem
    return f"lockswap_{stem}"


def _groups(header: Header) -> Iterator[tuple[str, str, list[Declaration]]]:
    """The functions below each comment that begins a group; those above the first one, too."""
    bounds = [*comments.groups_of(header.file), (1 << 30, "", "")]
    functions = [one for one in header.members if one.kind == "function" and one.name.startswith("lockswap_")]
    first = [one for one in functions if one.line < bounds[0][0]]
    if first:
        yield first[0].name, "", first
    for (line, title, said), (end, _, _) in pairwise(bounds):
        found = [one for one in functions if line < one.line < end]
        if found:
            yield title, said, found


def _overview(header: Header, groups: list[tuple[str, str, list[Declaration]]]) -> Page:
    first, *blocks = comments.blocks_of(comments.head_of(header.file))
    page = Page(overview_name(header), 3, _summary(first))
    _add_synopsis(page, header, [])
    page.heading("Description")
    for block in (first, *blocks):
        comments.add(page, block)
    _add_types(page, header)
    page.heading("Functions")
    for title, _, functions in groups:
        page.item([Span(title)], [see_also((one.name, 3) for one in functions)])
    _add_example(page, header)
    page.heading("See also")
    page.paragraph(see_also([("liblockswap", 7)]))
    return page


def _group_page(
    header: Header, title: str, said: str, functions: list[Declaration], others: list[tuple[str, int]]
) -> Page:
    first, *also = dict.fromkeys(one.name for one in functions)
    page = Page(first, 3, _lower_first(title), also)
    _add_synopsis(page, header, functions)
    page.heading("Description")
    if said:
        page.paragraph(comments.spans_of(said))
    for one in functions:
        page.item([Span(f"{one.name}()", BOLD)], [one.spans])
    for block in comments.blocks_of(comments.head_of(header.file)):
        if block.startswith("All functions return"):
            page.heading("Return value")
            comments.add(page, block)
    page.heading("See also")
    page.paragraph(see_also([(overview_name(header), 3), *(one for one in others if one[0] != first)]))
    return page


def _cpp_page(header: Header) -> Page:
    blocks = comments.blocks_of(comments.head_of(header.file))
    owners = [one for one in header.owners if "@" not in one[0].name]
    names = [one.name for one, _ in owners if one.name.count("::") < 3]
    page = Page(overview_name(header), 3, _summary(blocks[0]), names)
    _add_synopsis(page, header, [])
    page.heading("Description")
    for block in blocks:
        comments.add(page, block)
    if header.members:
        page.heading("Declarations")
        _add_declarations(page, header.members)
    if owners:
        page.heading("Classes")
    for owner, members in owners:
        page.subheading(owner.name)
        page.code(_folded(owner.text))
        page.paragraph(owner.spans)
        _add_declarations(page, members)
    _add_example(page, header)
    page.heading("See also")
    page.paragraph(see_also([*_c_pages(header), ("liblockswap", 7)]))
    return page


def _c_pages(header: Header) -> list[tuple[str, int]]:
    """The C header that a C++ header includes, such as rlu.h."""
    included = re.findall(r'#include "lockswap/(\w+)\.(h|hpp)"', header.file.read_text(encoding="utf-8"))
    return [(f"lockswap_{name}" + (".hpp" if suffix == "hpp" else ""), 3) for name, suffix in included]


def _add_declarations(page: Page, members: Iterable[Declaration]) -> None:
    for one in members:
        page.item([Span(one.text, BOLD)], [one.spans, *map(_named, one.values)])


def _add_synopsis(page: Page, header: Header, functions: list[Declaration]) -> None:
    page.heading("Synopsis")
    page.code([f"#include <{header.include}>"])
    if functions:
        page.code(line for one in functions for line in _folded(f"{one.text};"))
    for block in comments.blocks_of(comments.head_of(header.file)):
        if block.startswith("Link with"):
            comments.add(page, block.partition(". ")[0].rstrip(".") + ".")


def _add_types(page: Page, header: Header) -> None:
    types = [owner for owner, _ in header.owners]
    members = {owner.name: members for owner, members in header.owners}
    others = [one for one in header.members if one.kind in ("define", "enum")]
    if not types and not others:
        return
    page.heading("Types")
    for one in sorted([*types, *others], key=lambda found: found.line):
        fields = [(part.text, part.spans) for part in members.get(one.name, ()) if not _is_private(part)]
        values = [*one.values, *fields]
        page.item([Span(one.text if one.name else "enum", BOLD)], [one.spans, *map(_named, values)])


def _named(value: tuple[str, Iterable[Span]]) -> list[Span]:
    """A value or a field, and what it means if that is said."""
    name, said = value[0], list(value[1])
    return [Span(name, BOLD), *([Span(": "), *said] if any(span.text.strip() for span in said) else [])]


def _is_private(part: Declaration) -> bool:
    return "".join(span.text for span in part.spans).strip() == "Private."


def _add_example(page: Page, header: Header) -> None:
    """The program of examples/ that is named as the header."""
    file = EXAMPLES / f"{header.file.stem}{'.cpp' if header.is_cpp else '.c'}"
    if file.is_file():
        page.heading("Examples")
        page.code(file.read_text(encoding="utf-8").splitlines())


def _folded(text: str) -> list[str]:
    """A declaration on several lines, none of which ends within a parameter."""
    wrap = {"subsequent_indent": "    ", "break_long_words": False, "break_on_hyphens": False}
    name, bracket, parameters = " ".join(text.split()).partition("(")
    kept = re.sub(r"(?<!,) ", "\N{NO-BREAK SPACE}", parameters)
    lines = textwrap.wrap(name + bracket + kept, 72, **wrap)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def _summary(block: str) -> str:
    """What a header is, as far as the first stop or colon: 'range locks'."""
    text = " ".join(block.split())
    return _lower_first(re.split(r"[.;:(] ?", text, maxsplit=1)[0].strip())


def _lower_first(text: str) -> str:
    return text if text[1:2].isupper() or re.match(r"[A-Z]\w*-", text) else text[0].lower() + text[1:]
