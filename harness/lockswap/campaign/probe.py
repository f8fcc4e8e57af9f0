"""What the user's own program takes: one run under glibc's locks, counted, before anything is measured."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lockswap.base.choice import BASELINES, MUTEX, MUTEX_PTHREAD, RWLOCK, Choice
from lockswap.base.text import words
from lockswap.campaign.job import Job
from lockswap.recipes.judge import NOTHING_MATCHES
from lockswap.recipes.output import Counts
from lockswap.recipes.recipe import KINDS
from lockswap.records.status import WRONG
from lockswap.run import runner
from lockswap.run.outcome import Outcome
from lockswap.run.setup import Setup

OPTIONS = {RWLOCK: "-l", MUTEX: "-m"}
# A kind that is taken so many times as often as what is compared is worth a word.
MUCH_MORE = 10
_MOST_LINES, _MOST_COLUMNS = 3, 100  # of the program's output, in a message


@dataclass(frozen=True)
class Probe:
    """How the run ended, and how often it took each kind of locks; `taken` is empty where nothing was counted."""

    outcome: Outcome
    taken: dict[str, int]

    def only_mutexes(self) -> bool:
        return bool(self.taken) and not self.taken[RWLOCK] and bool(self.taken[MUTEX])

    @property
    def lacks_metric(self) -> bool:
        """The program ran well, and no run of it would have a number to compare."""
        return self.outcome.status == WRONG and self.outcome.detail.startswith(NOTHING_MATCHES)

    def printed(self) -> str:
        """The last lines of its output, for a pattern to be made from."""
        output = self.outcome.output
        lines = [line.strip() for line in f"{output.stdout}\n{output.stderr}".splitlines() if line.strip()]
        return " | ".join(f"'{line[:_MOST_COLUMNS]}'" for line in lines[-_MOST_LINES:]) or "nothing"

    def says(self, name: str, locks: Iterable[str], named: bool) -> str | None:
        """In a sentence: what `name` takes, and what else could be compared. None if nothing was counted."""
        if not self.taken:
            return None
        kinds = sorted((RWLOCK, MUTEX), key=lambda kind: -self.taken[kind])
        amounts = words(_amount(self.taken[kind], kind) for kind in kinds)
        text = f"{name} takes {amounts}"
        if not any(self.taken.values()):
            return f"{text}: there is nothing to swap; 'lockswap audit' says more"
        tested = frozenset().union(*(Choice.of(lock).tested for lock in locks if lock not in BASELINES))
        compared = max((self.taken[kind] for kind in tested & self.taken.keys()), default=0)
        for kind in (RWLOCK, MUTEX):
            if kind in tested:
                continue
            if self.taken[kind] and not compared:
                return f"{text}: try {OPTIONS[kind]}, which swaps {KINDS[kind]}"
            if self.taken[kind] > MUCH_MORE * compared:
                return f"{text}: {OPTIONS[kind]} compares {KINDS[kind]} as well"
        return (
            text if named else f"{text}: comparing {words(KINDS[kind] for kind in (RWLOCK, MUTEX) if kind in tested)}"
        )

    def advises(self, locks: Iterable[str]) -> bool:
        """Whether what is compared is not what the program takes."""
        return (self.says("", locks, True) or "").find(": try ") >= 0


def run(setup: Setup, job: Job, cwd: Path) -> Probe:
    """With glibc's own rwlocks and mutexes passed through, and both counted."""
    outcome = runner.measure(setup, job.recipe, MUTEX_PTHREAD, job.threads[0], job.seconds, job.params, True, cwd)
    counts = outcome.counts
    taken = _taken(counts) if counts and counts.processes else {}
    return Probe(outcome, taken)


def _taken(counts: Counts) -> dict[str, int]:
    mutexes = counts.mutex_totals.get("acquisitions", 0) + counts.mutex_totals.get("to_glibc", 0)
    return {RWLOCK: counts.reads + counts.writes + counts.totals.get("to_glibc", 0), MUTEX: mutexes}


def _amount(count: int, kind: str) -> str:
    """'no rwlocks', 'mutexes once', 'rwlocks 36,000 times', 'mutexes 1.6 million times'."""
    if count < 2:
        return f"{KINDS[kind]} once" if count else f"no {KINDS[kind]}"
    if count < 1_000_000:
        return f"{KINDS[kind]} {count:,} times"
    size, name = (1e9, "billion") if count >= 1e9 else (1e6, "million")
    return f"{KINDS[kind]} {count / size:.1f} {name} times"
