"""How one run ended."""

from dataclasses import dataclass, field

from lockswap.recipes.output import Counts, Output


@dataclass
class Outcome:
    """How one run ended, and all that it gave. `status` is one of records/status.py."""

    status: str
    detail: str = ""
    metrics: dict[str, float] = field(default_factory=dict)
    usage: dict[str, float] = field(default_factory=dict)
    output: Output = field(default_factory=lambda: Output("", ""))
    counts: Counts | None = None
    command: str = ""
    traces: dict[str, str] = field(default_factory=dict)  # by kind, see traces.py
