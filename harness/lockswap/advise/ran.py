"""What a trial asks of that which it runs (subject.py)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


class Failed(Exception):
    """The run is none that could be judged; the text goes on from 'the program' or 'the server'."""


@dataclass(frozen=True)
class Ran:
    text: str  # what it printed: of a server, what the load printed
    server_text: str  # of a server
    wall_s: float
    cpu_s: float  # of the program under test


class Subject(Protocol):
    @property
    def words(self) -> list[str]:
        """The command that is preloaded."""

    def run(self, env: Mapping[str, str], swap: Mapping[str, str]) -> Ran:
        """Once, with the variables `swap` for the program under test alone. Raises Failed."""
