"""What all commands share that print tables and lists in the terminal."""

import os
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text


class Output(Console):
    def on_broken_pipe(self) -> None:
        """rich would end the command as if it had failed."""
        raise BrokenPipeError


def open_console(stderr: bool = False) -> Console:
    """As wide as the terminal, or as COLUMNS says; in a file or pipe 120."""
    console = Output(stderr=stderr)
    return console if console.is_terminal or "COLUMNS" in os.environ else Output(width=120, stderr=stderr)


def listed(mark: str, lines: list[str], style: str = "dim") -> Table:
    """Lines that wrap under themselves, not under their mark."""
    grid = Table.grid(padding=(0, 1))
    for line in lines:
        grid.add_row(Text(mark, style=style), Text(line))
    return grid


def short(path: Path) -> str:
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path.resolve())
