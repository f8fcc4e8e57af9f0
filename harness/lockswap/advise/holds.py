"""Waits for long exclusive holds: under any algorithm threads wait while such a hold lasts."""

from dataclasses import dataclass

from lockswap.profile.names import Function
from lockswap.profile.summary import EXCLUSIVE, Lock

# A hold that is shorter may be long because threads meet in the lock, which another algorithm can change.
_LEAST_HOLD_NS = 100_000
# The share of the waiting that exclusive holders must have kept up.
_MOSTLY = 0.9


@dataclass(frozen=True)
class Held:
    """What a lock's exclusive holders cost those who wait."""

    lock: Lock
    ns: int  # waited until they released
    mean_us: float
    site: Function  # where the lock was released that was waited for longest

    def __str__(self) -> str:
        return (
            f"{self.lock.kind} {self.lock.name}: threads wait for holds of {self.mean_us:,.0f} us on average, which no "
            f"algorithm shortens; shorten what ends at {self.site}"
        )


def held_long(lock: Lock) -> Held | None:
    """None: the waits have another cause. Readers that hold long are one: a fair lock lets the writer in earlier."""
    pairs = [pair for pair in lock.by_sites() if pair.holder.mode == EXCLUSIVE]
    ns = sum(pair.until_release_ns for pair in pairs)
    mode = lock.modes[EXCLUSIVE]
    if not pairs or not mode.timed_holds or ns < _MOSTLY * lock.wait_ns:
        return None
    mean_ns = mode.hold_ns / mode.timed_holds
    return Held(lock, ns, mean_ns / 1000, pairs[0].holder.site) if mean_ns >= _LEAST_HOLD_NS else None
