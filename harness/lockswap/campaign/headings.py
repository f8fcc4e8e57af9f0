"""Options and commands that stand under headings in --help."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import click

from lockswap.base.errors import NobodyReads, NoCommand


@contextmanager
def _telling_a_closed_pipe() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise NobodyReads from error


class HeadedOption(click.Option):
    """An option with the heading under which --help shows it."""

    def __init__(self, *args, heading: str, **settings) -> None:
        super().__init__(*args, **settings)
        self.heading = heading


class HeadedCommand(click.Command):
    """A command whose --help has a section a heading, in the order in which the headings first occur.

    `words` gives what certain words of the help stand for; it is asked only when help is shown.
    """

    def __init__(self, *args, words: Callable[[], Mapping[str, str]] = dict, **settings) -> None:
        super().__init__(*args, **settings)
        self.words = words

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        words = self.words()
        sections: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx) if isinstance(option, click.Option) else None
            if record is None:
                continue
            names, text = record
            for word, meaning in words.items():
                text = text.replace(word, meaning)
            sections.setdefault(getattr(option, "heading", "Help"), []).append((names, text))
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


class Group(click.Group):
    """A group for which it is an error to give no command. click before 8.2 would show the help on stdout."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            raise NoCommand(ctx.get_help())
        return super().parse_args(ctx, args)


class HeadedGroup(Group):
    """A group whose --help lists its commands under headings."""

    group_class = Group

    def __init__(self, *args, headings: Mapping[str, Sequence[str]], **settings) -> None:
        super().__init__(*args, **settings)
        self.headings = headings

    def make_context(self, *args, **settings) -> click.Context:
        with _telling_a_closed_pipe():  # --help
            return super().make_context(*args, **settings)

    def invoke(self, ctx: click.Context) -> object:
        with _telling_a_closed_pipe():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.commands))
        for heading, names in self.headings.items():
            with formatter.section(heading):
                records = [(name.ljust(width), self.commands[name].get_short_help_str(limit=100)) for name in names]
                formatter.write_dl(records)
