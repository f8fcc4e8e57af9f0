"""Entry point: the only place that turns an error into a line on stderr and an exit status."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lockswap.base.errors import NobodyReads, NoCommand, Stopped, UserError, in_a_line
from lockswap.shell import VARIABLE

if TYPE_CHECKING:
    import click


def main(argv: list[str] | None = None) -> int:
    import click

    from lockswap.cli import cli

    if VARIABLE in os.environ:  # a shell asks
        from lockswap.shell import completers, scripts

        scripts.answer()
        completers.attach(cli)
    if isinstance(sys.stdout, io.TextIOWrapper):  # a program's name may have bytes that the terminal's encoding lacks
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with _hearing_signals():
            status = cli.main(args=argv, prog_name="lockswap", standalone_mode=False)
            sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except UserError as error:
        print(f"lockswap: {error}", file=sys.stderr)
        return 2
    except NoCommand as error:
        print(error, file=sys.stderr)
        return 2
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        where = context.command_path if context else _named(cli, sys.argv[1:] if argv is None else argv)
        message = _plain(error.format_message().rstrip("."))
        print(f"lockswap: {message}; see '{where} --help'", file=sys.stderr)
        return 2
    except (click.Abort, KeyboardInterrupt) as error:
        cause = error.__cause__ or error  # click's Abort has one
        number = cause.number if isinstance(cause, Stopped) else signal.SIGINT
        how = "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
        print(f"lockswap: {how}", file=sys.stderr)
        return 128 + number
    except (NobodyReads, BrokenPipeError):  # `lockswap list | head`
        _write_no_more()
        return 128 + signal.SIGPIPE
    except OSError as error:
        line = in_a_line(error)
        if line is None:
            raise
        print(f"lockswap: {line}", file=sys.stderr)
        return 2


@contextlib.contextmanager
def _hearing_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP end the command as Ctrl-C does, so no program that it started stays behind."""

    def stop(number: int, _: object) -> None:
        raise Stopped(number)

    # What is ignored stays so, as SIGHUP under nohup.
    numbers = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def _write_no_more() -> None:
    """Else Python would write what is left at its end, and complain."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.dup2(null, sys.stderr.fileno())
        os.close(null)


def _plain(message: str) -> str:
    """On one line, and without the names of click's types."""
    return (
        " ".join(message.split())
        .replace("a valid integer range", "a whole number")
        .replace("a valid float range", "a number")
    )


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
