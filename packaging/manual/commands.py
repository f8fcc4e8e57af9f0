"""Section 1: a page for each command, from what its --help is made of."""

import inspect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import click
from markdown import add, section_of
from page import BOLD, ITALIC, Page, Span, folded, see_also

from lockswap.base.errors import UserError
from lockswap.base.paths import OUTSIDE_OF_A_CHECKOUT, Paths
from lockswap.base.registry import Registry
from lockswap.campaign import request
from lockswap.cli import TASKS, cli

ROOT = Path(__file__).resolve().parents[2]
# What a text says literally: options, and what stands in quotes of either kind.
LITERAL = re.compile(
    r"(?<![\w/-])--?[A-Za-z][\w-]*|`[^`]+`|'(?:lockswap|pthread|own)[^']*'|\bLOCKSWAP_[A-Z_]+\b|\bLD_PRELOAD\b"
)
# What click says of the numbers that an option takes, in words.
BOUNDS = (
    (r" {2}\[(default: [^;\]]*); (.*)\]$", r" [\1]  [\2]"),
    (r" {2}\[x>=(\S+)\]", r" At least \1."),
    (r" {2}\[x>(\S+)\]", r" Above \1."),
    (r" {2}\[(\S+)<=x<=(\S+)\]", r" From \1 to \2."),
)
# The pages that have what a command leaves behind.
FILES = {
    "lockswap": ("docs/installing.md", ""),
    "lockswap-compare": ("docs/results.md", ""),
    "lockswap-profile": ("docs/diagnose.md", "files-of-a-profile"),
}


@dataclass
class Help:
    """A docstring in its parts. A block of lines, which click shows as they are, has examples or statuses."""

    description: list[str] = field(default_factory=list)
    examples: list[list[str]] = field(default_factory=list)
    statuses: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class Maker:
    """Makes the pages; `words` has what stands for certain words in help texts."""

    build: Path
    variables: dict[str, list]
    words: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            registry = Registry.load(Paths(ROOT, self.build))
            rwlocks, mutexes = ", ".join(registry.default_rwlocks), ", ".join(registry.default_mutexes)
        except UserError:  # the library is built for another machine, or not yet
            rwlocks = mutexes = "those that 'lockswap list' names"
        self.words = {
            request.DEFAULT_RWLOCKS: rwlocks,
            request.DEFAULT_MUTEXES: mutexes,
            request.DEFAULT_FOLDER: OUTSIDE_OF_A_CHECKOUT,
        }

    def pages(self) -> Iterator[Page]:
        for context in contexts():
            yield self.page(context)

    def page(self, context: click.Context) -> Page:
        command, help_text = context.command, parts_of(context.command.help or "")
        name = page_name(context)
        page = Page(name, 1, _summary(command, help_text))
        self._add_synopsis(page, context)
        page.heading("Description")
        for paragraph in help_text.description:
            page.paragraph(spans_of(paragraph))
        if isinstance(command, click.Group):
            self._add_commands(page, context)
        self._add_options(page, context)
        self._add_statuses(page, help_text)
        self._add_environment(page, context)
        if name in FILES:
            page.heading("Files")
            add(page, section_of(ROOT / FILES[name][0], FILES[name][1]), ("table",))
        self._add_examples(page, help_text)
        page.heading("See also")
        page.paragraph(see_also(_related(context)))
        return page

    def _add_synopsis(self, page: Page, context: click.Context) -> None:
        page.heading("Synopsis")
        spans = [Span(context.command_path, BOLD)]
        for piece in context.command.collect_usage_pieces(context):
            spans += [Span(" "), *_usage(piece)]
        page.paragraph(spans)

    def _add_commands(self, page: Page, context: click.Context) -> None:
        page.heading("Commands")
        commands = context.command.commands
        for heading, names in (TASKS if context.parent is None else {"": list(commands)}).items():
            if heading:
                page.subheading(heading)
            for name in names:
                tag = see_also([(f"{page.name}-{name}", 1)])
                page.item(tag, [spans_of(commands[name].get_short_help_str(limit=1000))])

    def _add_options(self, page: Page, context: click.Context) -> None:
        page.heading("Options")
        heading = None
        for option in context.command.get_params(context):
            record = option.get_help_record(context) if isinstance(option, click.Option) else None
            if record is None:
                continue
            here = getattr(option, "heading", heading)
            if here != heading:
                page.subheading(here)
                heading = here
            page.item(_option_tag(record[0]), [self._option_text(record[1], option)])

    def _option_text(self, text: str, option: click.Option) -> list[Span]:
        for word, meaning in self.words.items():
            text = text.replace(word, meaning)
        places = re.findall(r"[A-Z]+", option.metavar or "")
        for pattern, words in BOUNDS:
            text = re.sub(pattern, words, text)
        return list(_with_places(spans_of(text), places))

    def _add_statuses(self, page: Page, help_text: Help) -> None:
        """Its own, or else what holds for every command."""
        page.heading("Exit status")
        sentences = [one for text in help_text.description for one in _sentences(text) if "exit status" in one.lower()]
        if sentences:
            page.paragraph(spans_of(" ".join(sentences)))
            page.paragraph(spans_of("Otherwise:"))
        for status, meaning in help_text.statuses or parts_of(cli.help or "").statuses:
            page.item([Span(status, BOLD)], [spans_of(meaning)])

    def _add_environment(self, page: Page, context: click.Context) -> None:
        page.heading("Environment")
        for name in ["LOCKSWAP_HOME", *sorted(_variables_in(context) - {"LOCKSWAP_HOME"})]:
            if name in self.variables:
                page.item([Span(name, BOLD)], self.variables[name])
        page.paragraph([Span("The library reads more variables, which programs inherit: see "), *LIBRARY, Span(".")])

    def _add_examples(self, page: Page, help_text: Help) -> None:
        if not help_text.examples:
            return
        page.heading("Examples")
        for block in help_text.examples:
            for said, commands in _described(block):
                if said:
                    page.paragraph(spans_of(said))
                page.code(line for command in commands for line in folded(command))


LIBRARY = see_also([("liblockswap", 7)])


def contexts(parent: click.Context | None = None, command: click.Command = cli) -> Iterator[click.Context]:
    """The command with all that are below it."""
    name = "lockswap" if parent is None else command.name
    context = click.Context(command, parent=parent, info_name=name, **command.context_settings)
    yield context
    for below in command.commands.values() if isinstance(command, click.Group) else ():
        if not below.hidden:
            yield from contexts(context, below)


def page_name(context: click.Context) -> str:
    return context.command_path.replace(" ", "-")


def parts_of(text: str) -> Help:
    """The docstring's paragraphs, examples and statuses."""
    found = Help()
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if not paragraph.lstrip().startswith("\b"):
            found.description.append(" ".join(paragraph.split()))
            continue
        lines = paragraph.strip().removeprefix("\b").strip("\n").splitlines()
        if lines[0].lower().startswith("exit status"):
            found.statuses += _statuses(lines[1:])
        else:
            found.examples.append(lines)
    return found


def _statuses(lines: Iterable[str]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for line in lines:
        if head := re.match(r"\s+(\d+(?: \+ N)?)\s{2,}(\S.*)", line):
            found.append((head[1], head[2]))
        else:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
    return found


def _described(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Commands, with what is said of them: on a line above, or after two spaces behind the command."""
    said, commands = "", []
    for line in lines:
        is_command = re.match(r"\s|(lockswap|build/apps)\S*\s", line)
        command, _, remark = line.strip().partition("  ") if is_command else ("", "", line.strip())
        if commands and (remark or not is_command):
            yield said, commands
            said, commands = "", []
        if not is_command:
            said = remark
        elif remark:
            yield _as_sentence(remark), [command]
        else:
            commands.append(command)
    if commands:
        yield said, commands


def _as_sentence(remark: str) -> str:
    remark = remark.strip()
    return f"{remark[0].upper()}{remark[1:]}:"


def _summary(command: click.Command, help_text: Help) -> str:
    text = command.short_help or _sentences(help_text.description[0])[0]
    text = text.rstrip(".")
    return text[0].lower() + text[1:]


def _sentences(text: str) -> list[str]:
    return re.split(r"(?<=[a-z)'][.?!]) +(?=[A-Z])", text)


def _usage(piece: str) -> Iterator[Span]:
    """'[-- CMD...]': what is typed as it stands is bold, and what stands for something else italic."""
    for part in re.split(r"(--|[A-Z][A-Z']*|[a-z]{3,})", piece):
        yield Span(part, BOLD if re.match(r"--|[a-z]", part) else ITALIC if part[:1].isupper() else "R")


def _option_tag(names: str) -> Iterator[Span]:
    for part in re.split(r"(--?[A-Za-z][\w-]*)", names):
        if part.startswith("-"):
            yield Span(part, BOLD)
        else:
            for word in re.split(r"([A-Za-z][A-Za-z]*)", part):
                yield Span(word, ITALIC if word[:1].isalpha() else "R")


def spans_of(text: str) -> list[Span]:
    """A text of --help, with what is literal in bold."""
    found, place = [], 0
    for match in LITERAL.finditer(text):
        found += [Span(text[place : match.start()]), Span(match[0].strip("`'"), BOLD)]
        place = match.end()
    return [*found, Span(text[place:])]


def _with_places(spans: Iterable[Span], places: list[str]) -> Iterator[Span]:
    """The option's own placeholders in italics where its text names them."""
    if not places:
        yield from spans
        return
    for text, font in spans:
        for part in re.split(rf"(\b(?:{'|'.join(places)})\b)", text):
            yield Span(part, ITALIC if part in places and font != BOLD else font)


def _variables_in(context: click.Context) -> set[str]:
    texts = [context.command.help or ""]
    texts += [option.help or "" for option in context.command.params if isinstance(option, click.Option)]
    return set(re.findall(r"LOCKSWAP_[A-Z_]+", " ".join(texts)))


def _related(context: click.Context) -> list[tuple[str, int]]:
    """The commands for the same task, those above and below, and the library."""
    names = []
    if context.parent is None:
        names = [page_name(one) for one in contexts()][1:]
    else:
        above = page_name(context.parent)
        tasks = [names for names in TASKS.values() if context.command.name in names] if above == "lockswap" else []
        beside = [f"lockswap-{name}" for name in (tasks[0] if tasks else ())]
        below = context.command.commands if isinstance(context.command, click.Group) else ()
        names = [above, *beside, *(f"{page_name(context)}-{name}" for name in below)]
    own = page_name(context)
    return [*((name, 1) for name in sorted({*names} - {own})), ("liblockswap", 7)]
