"""From a profile: which locks are worth an experiment, and which algorithms may serve them better."""

from collections.abc import Collection
from dataclasses import dataclass

from lockswap.advise.holds import Held, held_long
from lockswap.profile.summary import EXCLUSIVE, SHARED, Lock, Profile

_MOST_HOT = 3
# A lock is looked at only if it can cost this share of the time that the program's threads can have.
_LEAST_SHARE = 0.01
# What an acquisition costs at least while threads on other processors take the same lock: its cache line comes from
# there (see results/notes/2026-11-eventual.md). An estimate, which only chooses what is tried.
_LINE_NS = 60


@dataclass(frozen=True)
class Hot:
    """A lock that may be worth swapping, and the evidence."""

    lock: Lock
    share: float  # of the time that the program's threads could have had
    read_share: float

    @property
    def evidence(self) -> str:
        lock = self.lock
        words = [f"{lock.acquisitions:,} acquisitions by {lock.threads} threads"]
        if lock.kind == "rwlock":
            words.append(f"{100 * self.read_share:.1f} % reads")
        words.append(f"{lock.contended:,} ({100 * lock.contended / max(1, lock.acquisitions):.1f} %) had to wait")
        return ", ".join(words)


@dataclass(frozen=True)
class Candidate:
    """One algorithm for one hot lock."""

    hot: Hot
    algorithm: str
    why: str

    @property
    def rule(self) -> str:
        return f"{self.hot.lock.rule} {self.hot.lock.kind}={self.algorithm}"

    @property
    def title(self) -> str:
        return f"{self.algorithm} for {self.hot.lock.kind} {self.hot.lock.name}"


def hot_locks(profile: Profile, wall_s: float, processors: int) -> list[Hot]:
    """Those that cost most, by waits and by the cache line that threads fight for; at most three."""
    found = []
    for lock in profile.locks:
        if not lock.rule or lock.threads < 2 or lock.acquisitions == 0:
            continue
        held = held_long(lock)
        line_ns = _LINE_NS * lock.acquisitions if min(lock.threads, processors) > 1 else 0
        share = _share(lock, lock.wait_ns - (held.ns if held else 0) + line_ns, wall_s, processors)
        if share >= _LEAST_SHARE:
            reads = lock.modes[SHARED].acquisitions
            found.append(Hot(lock, share, reads / (reads + lock.modes[EXCLUSIVE].acquisitions)))
    return sorted(found, key=lambda hot: -hot.share)[:_MOST_HOT]


def held_locks(profile: Profile, wall_s: float, processors: int) -> list[Held]:
    """Those whose long holds cost as much as would make a lock hot; at most three."""
    found = [held for lock in profile.locks if (held := held_long(lock))]
    found = [held for held in found if _share(held.lock, held.ns, wall_s, processors) >= _LEAST_SHARE]
    return sorted(found, key=lambda held: -held.ns)[:_MOST_HOT]


def _share(lock: Lock, ns: float, wall_s: float, processors: int) -> float:
    """The share of the time that the lock's threads could have had on processors. At most 1: waits can exceed it."""
    return min(ns / (1e9 * wall_s * max(min(lock.threads, processors), 1)), 1)


def candidates(hot: Hot, processors: int, left_out: Collection[str] = ()) -> list[Candidate]:
    """What may serve that lock better, but for the locks that this build leaves out."""
    fits = hot.lock.threads <= processors
    if hot.lock.kind == "mutex":
        chosen = [("auto", "a running thread takes it, and waiting is bounded")]
        if fits:
            chosen.append(("cohort", "no more threads than processors, so it can be handed on"))
    elif hot.read_share >= 0.9:
        chosen = [("auto", "mostly read: BRAVO spares readers the lock's cache line")]
        if hot.read_share >= 0.99:
            chosen.append(("bravo-asym-eventual", "hardly written: readers that make no update"))
        if fits:
            chosen.append(("cohort", "mostly read, by no more threads than processors"))
    else:
        chosen = [("auto", "a running thread takes it, and waiting is bounded")]
        if fits:
            chosen.append(("cohort", "no more threads than processors, so it can be handed on"))
        if hot.read_share < 0.5:
            chosen.append(("exclusive", "mostly written: a mutex may do, and is cheaper"))
    return [Candidate(hot, algorithm, why) for algorithm, why in chosen if algorithm not in left_out]
