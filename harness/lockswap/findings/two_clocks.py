"""What it means that the clock and the CPU seconds say different things of one figure."""

from lockswap.findings.stats import EQUAL, FASTER, OPEN, SLOWER

# by the clock, per CPU second -> what it means. What one of them leaves open contradicts nothing.
_MEANINGS = {
    (FASTER, SLOWER): "it keeps more processors busy, which is a gain only where they would have been idle",
    (FASTER, EQUAL): "it gains by using more of the processors, not by less work",
    (SLOWER, FASTER): (
        "it saves processor time and lets the program wait, which is a gain only where other work wants the processors"
    ),
    (SLOWER, EQUAL): "the program waits more and works as much, so processors were idle",
    (EQUAL, FASTER): "it saves processor time, for which nothing waited here",
    (OPEN, FASTER): "it saves processor time, which the clock does not show here",
    (EQUAL, SLOWER): "it costs processor time, for which nothing waited here",
    (OPEN, SLOWER): "it costs processor time, which the clock does not show here",
}


def meaning(by_clock: str, per_cpu: str) -> str:
    """What two verdicts mean together; empty if they agree, or one of them says nothing."""
    return _MEANINGS.get((by_clock, per_cpu), "")
