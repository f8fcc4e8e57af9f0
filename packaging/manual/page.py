"""A manual page in the language of man(7). Text is given as lists of spans, code as lines."""

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

WIDTH = 78  # of a line of the source
CODE_WIDTH = 70  # of a line of an example, which is shown in a terminal of 80 columns
# Not behind an initial: 'A. Kogan'.
SENTENCE_END = re.compile(r"(?:(?<=[\w)}\]%][\w)}\]%][.?!])|(?<= \d[.?!])) +(?=[A-Z\\\"(])")
ROMAN, BOLD, ITALIC = "R", "B", "I"


class Span(NamedTuple):
    """Words in one font."""

    text: str
    font: str = ROMAN


def escape(text: str, literal: bool = False) -> str:
    """Literal text has the signs of a keyboard, so that a reader can copy it."""
    text = text.replace("\\", "\\e")
    if literal:
        return text.replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga").replace("^", "\\(ha").replace(
            "~", "\\(ti"
        )  # fmt: skip
    return text


def in_fonts(spans: Iterable[Span]) -> str:
    """Spans on one line; what is bold is literal."""
    found = []
    for text, font in spans:
        if font == ROMAN:
            found.append(escape(text))
        elif text:
            mark = "\\%" if font == BOLD and " " not in text else ""  # never divided
            found.append(f"\\f{font}{mark}{escape(text, literal=font == BOLD)}\\fR")
    return "".join(found)


def _filled(spans: Iterable[Span]) -> list[str]:
    """Each sentence begins a line, and no line is long; none begins as a request would."""
    sentences = SENTENCE_END.split(" ".join(in_fonts(spans).split()))
    wrap = {"width": WIDTH, "break_long_words": False, "break_on_hyphens": False}
    lines = [line for sentence in sentences for line in textwrap.wrap(sentence, **wrap)]
    return [_no_request(line) for line in lines]


def _no_request(line: str) -> str:
    return "\\&" + line if line.startswith((".", "'")) else line


def folded(command: str) -> list[str]:
    """A command that is too long for a line, as a shell takes it on several."""
    if len(command) <= CODE_WIDTH:
        return [command]
    wrap = {"break_long_words": False, "break_on_hyphens": False, "subsequent_indent": "    "}
    lines = textwrap.wrap(command, CODE_WIDTH - 2, **wrap)
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


@dataclass
class Page:
    """Collects the lines of a page."""

    name: str
    section: int
    summary: str
    also: Sequence[str] = ()  # other names, each of which finds this page
    lines: list[str] = field(default_factory=list)
    depth: int = 0

    @property
    def file(self) -> str:
        return f"man{self.section}/{self.name}.{self.section}"

    def heading(self, title: str) -> None:
        self.lines.append(f".SH {title.upper()}")

    def subheading(self, title: str) -> None:
        self.lines.append(f".SS {in_fonts([Span(title)])}")

    def paragraph(self, spans: Iterable[Span]) -> None:
        text = _filled(spans)
        if text:
            self._begin_paragraph()
            self.lines += text

    def _begin_paragraph(self) -> None:
        """A heading begins one by itself."""
        if self.lines and not self.lines[-1].startswith((".SH", ".SS", ".RS")):
            self.lines.append(".PP")

    def item(self, tag: Iterable[Span], body: Iterable[Iterable[Span]]) -> None:
        """A tag with its text, whose paragraphs stand directly below each other."""
        texts = [lines for spans in body if (lines := _filled(spans))]
        self.lines += [".TP", _no_request(in_fonts(tag))]
        for number, lines in enumerate(texts):
            self.lines += ([".br"] if number else []) + lines
        if not texts:
            self.lines.append("\\&")

    def bullet(self, mark: str, spans: Iterable[Span]) -> None:
        self.lines.append(f".IP {mark} {max(2, len(mark) + 1) if mark[0].isdigit() else 2}")
        self.lines += _filled(spans)

    def code(self, lines: Iterable[str]) -> None:
        """Shown as it is, and indented."""
        self._begin_paragraph()
        shown = [_no_request(escape(line.rstrip(), literal=True)) for line in lines]
        self.lines += [".RS 4", ".EX", *shown, ".EE", ".RE"]

    def indent(self) -> None:
        self.lines.append(".RS")

    def outdent(self) -> None:
        self.lines.append(".RE")

    def text(self, version: str, date: str) -> str:
        """The whole page."""
        title = f'.TH {self.name.upper()} {self.section} {date} "lockswap {version}"'
        names = ", ".join(map(escape_name, (self.name, *self.also)))
        head = [title, ".ad l", ".SH NAME", f"{names} \\- {escape(self.summary)}"]
        return "\n".join([*head, *self.lines]) + "\n"


def escape_name(name: str) -> str:
    return "\\%" + name.replace("-", "\\-")


def see_also(names: Iterable[tuple[str, int]]) -> list[Span]:
    """References to other pages."""
    spans: list[Span] = []
    for name, section in names:
        spans += [Span(", ")] if spans else []
        spans += [Span(name, BOLD), Span(f"({section})")]
    return spans
