"""How one run ended."""

from dataclasses import dataclass, field

from lockswap.judge import Counts, Output

# OK is the only one whose numbers count.
OK = "ok"
CRASHED = "crashed"  # died by a signal
FAILED = "failed"  # the wrong exit status
HUNG = "hung"  # still running at the time limit
WRONG = "wrong result"  # ended well, but its own check of its result did not
NO_LOCK = "no lock"  # does not take the lock under test
SKIPPED = "skipped"  # not started, for the reason given


@dataclass
class Outcome:
    status: str
    detail: str = ""
    metrics: dict[str, float] = field(default_factory=dict)
    usage: dict[str, float] = field(default_factory=dict)
    output: Output = field(default_factory=lambda: Output("", ""))
    counts: Counts | None = None
    command: str = ""
    traces: dict[str, str] = field(default_factory=dict)  # by kind, see traces.py
