"""Who is told how far a campaign is."""

from typing import Protocol


class Watcher(Protocol):
    """What shows the progress; see terminal.py."""

    def starts(self, what: str, left_s: float | None) -> None: ...

    def done(self, share: float, left_s: float | None) -> None: ...

    def says(self, text: str) -> None: ...
