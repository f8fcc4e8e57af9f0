"""`--stats[=FILE]` before a program: a word after it is a file only where it cannot be the program."""

import shutil

import click


class StatsOption(click.Option):
    """Its help shows the form that always works."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        record = super().get_help_record(ctx)
        return record and (record[0].replace("--stats [FILE]", "--stats[=FILE]"), record[1])


class WithStats(click.Command):
    """A command whose `--stats` may stand alone. Options before the program are options, all behind it are its own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if problem := self._unclear(args):
            raise click.UsageError(problem, ctx)
        return super().parse_args(ctx, args)

    def _unclear(self, args: list[str]) -> str | None:
        valued = {
            name for option in self.params if isinstance(option, click.Option) and not option.is_flag
            for name in option.opts if name != "--stats"
        }  # fmt: skip
        place = 0
        while place < len(args) and args[place].startswith("-") and args[place] != "--":
            if args[place] == "--stats":
                return self._unclear_word(args[place + 1 :])
            place += 2 if args[place] in valued else 1
        return None

    @staticmethod
    def _unclear_word(rest: list[str]) -> str | None:
        word = rest[0] if rest else "-"
        if word.startswith("-") or ("--" in rest and shutil.which(word) is None):
            return None
        return (
            f"--stats '{word}': say whether this is the program ('--stats -- {word}') or a file ('--stats={word} --')"
        )
