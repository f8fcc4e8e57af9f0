"""Entry point: the only place that turns an error into a line on stderr and an exit status."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lockswap.base.errors import UNWRITABLE, UserError, cannot_write

if TYPE_CHECKING:
    import click


def main(argv: list[str] | None = None) -> int:
    import click

    from lockswap.cli import cli

    try:
        status = cli.main(args=argv, prog_name="lockswap", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except UserError as error:
        print(f"lockswap: {error}", file=sys.stderr)
        return 2
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        where = context.command_path if context else _named(cli, sys.argv[1:] if argv is None else argv)
        message = error.format_message().rstrip(".").replace("\n", " ")
        print(f"lockswap: {message}; see '{where} --help'", file=sys.stderr)
        return 2
    except (click.Abort, KeyboardInterrupt):
        print("lockswap: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `lockswap list | head`
        sys.stderr.close()
        return 141
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        print(f"lockswap: {cannot_write(error.filename, error)}", file=sys.stderr)
        return 2


def _named(command: click.Command, words: list[str]) -> str:
    """Which command the arguments name: click does not say it of an option without its value."""
    import click

    path = "lockswap"
    for word in words:
        if not isinstance(command, click.Group) or word not in command.commands:
            break
        command = command.commands[word]
        path += f" {word}"
    return path


if __name__ == "__main__":
    sys.exit(main())
