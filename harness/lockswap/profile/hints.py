"""What to do about a lock, in a sentence: from how it was held, and from what its waiters waited for."""

from lockswap.base.text import plural, share, time
from lockswap.profile.summary import SHARED, Lock, Pair, Profile

_LITTLE = 0.01  # of the time that was recorded
_MUCH = 0.5
_OFTEN_THE_CAUSE = 0.3
_LONG_NS = 1_000_000
_MOSTLY_READ = 0.9


def hint(lock: Lock, profile: Profile) -> str:
    """The first that holds: each names what costs more than what comes after it can mend."""
    still = sum(one.lock is lock for one in profile.unfinished)
    if any(one.lock is lock and one.circle for one in profile.unfinished):
        return "Threads that waited for it were in a deadlock. Take the locks in one order everywhere."
    if still:
        threads = f"{plural(still, 'thread')} still waited for it at the end"
        return f"{threads}. Find out first who kept {'it' if still == 1 else 'them'} waiting."
    recorded_ns = (profile.recorded_s or 0) * 1e9
    waited_ns = lock.wait_ns + lock.timed_out_ns
    if waited_ns < _LITTLE * recorded_ns:
        return f"Threads waited {share(waited_ns / recorded_ns)} of the recorded time: there is little to gain here."
    pairs = lock.by_sites()
    if not pairs:
        return "Its waits were too short to be charged to a holder: see whether it can be taken less often."
    return _of_holder(lock, pairs[0])


def _of_holder(lock: Lock, pair: Pair) -> str:
    place = pair.holder.site
    by_lock: dict[tuple[str, str], int] = {}
    for cause in pair.causes:
        key = (cause.lock.kind, cause.lock.name)
        by_lock[key] = by_lock.get(key, 0) + cause.ns
    if by_lock and max(by_lock.values()) > _OFTEN_THE_CAUSE * pair.wait_ns:
        kind, name = max(by_lock, key=by_lock.get)
        return f"{place} holds it while it waits for {kind} {name} itself: look at that one first."
    split_ns = sum(mode.split_ns for mode in lock.modes.values())
    off = 1 - sum(mode.on_processor_ns for mode in lock.modes.values()) / split_ns if split_ns else 0
    if off > _MUCH:
        return (
            f"Its holders are off-CPU for {share(off)} of their long holds: "
            f"see whether what {place} sleeps or waits for can be done without the lock."
        )
    if pair.until_release_ns and pair.wait_ns - pair.until_release_ns > _MUCH * pair.wait_ns:
        return (
            "Most of the waiting comes after the release, until the waiter runs: fewer threads may help, "
            "or a lock whose waiters spin (`lockswap advise` tries some)."
        )
    mean_ns = pair.wait_ns / pair.waits
    if mean_ns > _LONG_NS:
        return f"A wait for {place} takes {time(mean_ns)} on average: do less there under the lock, or split the lock."
    reads = lock.modes[SHARED].acquisitions / lock.acquisitions if lock.acquisitions else 0
    if reads > _MOSTLY_READ:
        return f"{share(reads)} of its acquisitions are reads: a lock for many readers may help (`lockswap advise`)."
    return "It is held shortly and often: take it less often, split it, or try other locks (`lockswap advise`)."
