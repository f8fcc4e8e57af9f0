"""A profile as text of 80 columns."""

import shlex
import textwrap
from collections import Counter

from lockswap.base.text import plural, share, time
from lockswap.profile.summary import EXCLUSIVE, LOCKS, SHARED, Cause, Lock, Mode, Pair, Profile, Unfinished, quantile

_WIDTH = 80
_PAIRS = 3  # of a lock
_LINKS = 5  # of a chain
_LEAST_OF_CHAIN = 0.05
_CONDS = 5
_MOSTLY = 0.5
_UNFINISHED = 10  # places
_DROPPED = {
    "objects": "calls on locks that found no room",
    "tallies": "calls whose counts found no room",
    "stacks": "stacks that found no room",
    "pairs": "waits that could not be charged",
    "chains": "causes of waits that found no room",
    "holds": "holds of threads that hold too many locks",
    "timelines": "waits without a place on the timeline",
    "inside": "calls of signal handlers that interrupted the profile's own work",
}
_ENDS = {  # what ends a wait, and where
    "cond": ("the signal", "signalled in"),
    "semaphore": ("the post", "posted in"),
    "barrier": ("the last arrival", "last to arrive at"),
    "join": ("the thread's exit", "for a thread of"),
}
_WORDS = {EXCLUSIVE: "writer", SHARED: "reader", "unknown": "thread"}


def as_text(profile: Profile, top: int) -> str:
    lines = [_title(profile), *_unfinished(profile)]
    waited = [lock for lock in profile.locks if lock.contended or lock.timeouts]
    for number, lock in enumerate(waited[:top], 1):
        lines += ["", *_lock(number, lock, profile)]
    if not waited:
        lines += ["", "No wait for a lock has ended." if _stuck(profile) else "No thread has waited for a lock."]
    lines += _rest(profile, waited, top)
    lines += _conds(profile)
    lines += _meetings(profile)
    lines += ["", *_coverage(profile)]
    return "".join(f"{line}\n" for line in lines)


def _title(profile: Profile) -> str:
    run = profile.run
    words = [f"lockswap profile: {shlex.join(run.command)}" if run.command else "lockswap profile"]
    if run.wall_s is not None:
        words.append(f"{time(run.wall_s * 1e9)}, {time(run.cpu_s * 1e9)} of processor time")
    words.append(plural(len(profile.processes), "process"))
    if run.ended:
        words.append(run.ended)
    return wrapped("; ".join(words), "", "  ")


def wrapped(text: str, first: str, more: str) -> str:
    return textwrap.fill(
        text, _WIDTH, initial_indent=first, subsequent_indent=more, break_long_words=False, break_on_hyphens=False
    )


def _lock(number: int, lock: Lock, profile: Profile) -> list[str]:
    lines = [wrapped(f"{lock.kind} {_named(lock)}", f"{number:>2}. ", "    ")]
    if lock.contended:
        lines.append(wrapped(_waited(lock, profile), "    ", "      "))
    if lock.timeouts:
        text = f"waited {time(lock.timed_out_ns)} in {plural(lock.timeouts, 'call')} that timed out"
        if not lock.contended:
            text += f"; {plural(lock.acquisitions, 'acquisition')} without a wait"
        lines.append(wrapped(text, "    ", "      "))
    for mode, word in ((EXCLUSIVE, "held"), (SHARED, "read")):
        if lock.modes[mode].acquisitions:
            lines.append(wrapped(f"{word}: {_held(lock, mode)}", "    ", "      "))
    for pair in lock.by_sites()[:_PAIRS]:
        lines += _pair(lock, pair)
    return lines


def _waited(lock: Lock, profile: Profile) -> str:
    shares = share(lock.wait_ns / profile.wait_ns) if profile.wait_ns else "0 %"
    return (
        f"waited {time(lock.wait_ns)} ({shares} of all), in {lock.contended:,} of {lock.acquisitions:,} "
        f"acquisitions ({share(lock.contended / lock.acquisitions)}); {_quantiles(lock.waits, lock.most_wait_ns)}"
    )


def _named(lock: Lock) -> str:
    place = str(lock.place)
    verb = "initialised" if lock.by_init else "first taken"
    what = f"{verb} in {place}" if lock.name == place else f"{lock.name}, {verb} in {place}"
    return f"{what} ({plural(lock.objects, 'object')}, {plural(lock.threads, 'thread')})"


def _quantiles(histogram: Counter, most: int) -> str:
    half, nearly_all = (quantile(histogram, share_, most) for share_ in (0.5, 0.99))
    return f"p50 {time(half)}, p99 {time(nearly_all)}, max {time(most)}"


def _held(lock: Lock, which: str) -> str:
    mode: Mode = lock.modes[which]
    words = [_quantiles(mode.holds, mode.most_hold_ns)] if mode.timed_holds else ["not timed"]
    if mode.split_ns:
        off = share(1 - mode.on_processor_ns / mode.split_ns)
        words.append(f"long holds are off-CPU for {off} ({mode.split_holds:,} were looked at)")
    if lock.kind == "rwlock":
        words.append(f"{share(mode.acquisitions / lock.acquisitions)} of acquisitions")
    if which == EXCLUSIVE and lock.failed_tries:
        words.append(f"{lock.failed_tries:,} failed tries")
    return "; ".join(words)


def _pair(lock: Lock, pair: Pair) -> list[str]:
    """The time until the release is the holder's; the rest is the scheduler's."""
    waiter, holder = ((_WORDS[side.mode] if lock.kind == "rwlock" else "") for side in (pair.waiter, pair.holder))
    after = pair.wait_ns - pair.until_release_ns
    known = "" if not pair.until_release_ns else f", {time(after)} of it after the release"
    return [
        wrapped(f"{time(pair.wait_ns)} in {plural(pair.waits, 'wait')}{known}:", "    - ", "      "),
        wrapped(f"{holder} holds until {pair.holder.site}".strip(), "      ", "        "),
        wrapped(f"{waiter} waits at    {pair.waiter.site}".strip(), "      ", "        "),
        *_chain(pair),
    ]


def _chain(pair: Pair) -> list[str]:
    """From the holder to the one that it waits for itself, and so on to the root."""
    lines: list[str] = []
    while len(lines) < _LINKS:
        by_place: dict[tuple, list[Cause]] = {}
        for cause in pair.causes:
            by_place.setdefault((cause.lock.kind, cause.lock.name, cause.pair.holder.site), []).append(cause)
        if not by_place:
            break
        (kind, name, place), causes = max(by_place.items(), key=lambda one: sum(cause.ns for cause in one[1]))
        ns = sum(cause.ns for cause in causes)
        if ns < _LEAST_OF_CHAIN * pair.wait_ns:
            break
        verb = _ENDS[kind][1] if kind in _ENDS else "held until"
        text = f"{time(ns)} of it the holder waits itself: for {kind} {name}, {verb} {place}"
        lines.append(wrapped(text, "      ", "        "))
        pair = max((cause.pair for cause in causes), key=lambda one: one.wait_ns)
    return lines


def _stuck(profile: Profile) -> list[Unfinished]:
    """Those that waited for a lock, or in a deadlock; for conditions and the like idle threads wait, too."""
    return [one for one in profile.unfinished if one.circle or one.lock.kind in LOCKS]


def _unfinished(profile: Profile) -> list[str]:
    """What had not ended: first deadlocks, then the others by lock and place, the longest first."""
    waits, lines = _stuck(profile), []
    circles = {(one.pid, frozenset(one.circle)): one for one in waits if one.circle}
    for one in circles.values():
        lines += ["", *_deadlock(one, waits)]
    others = [one for one in waits if not one.circle]
    if others:
        more = " more" if circles else ""
        first = f"{len(others):,}{more} thread{'s' * (len(others) > 1)} still waited for a lock at the end"
        longest = len(others) > 1 and others[0].age_ns is not None
        lines += ["", f"{first}, the longest {_how_long(others[0])}:" if longest else f"{first}:"]
        lines += _by_place(others)
    if lines and all(process.get("runs") for process in profile.processes):
        lines.append(wrapped("`lockswap why PID` says who keeps them waiting.", "    ", "    "))
    return lines


def _deadlock(one: Unfinished, waits: list[Unfinished]) -> list[str]:
    by_thread = {other.tid: other for other in waits if other.pid == one.pid}
    if len(one.circle) == 1:
        lines = [f"A deadlock: thread {one.tid} of process {one.pid} waits for a lock that it holds itself:"]
    else:
        head = f"A deadlock of {len(one.circle)} threads of process {one.pid}, each of which waits for the next one:"
        lines = [wrapped(head, "", "  ")]
    for tid in one.circle:
        wait = by_thread[tid]
        text = f"thread {tid}, {_how_long(wait)}: {_what(wait)}, at {wait.site}"
        lines.append(wrapped(text, "    - ", "      "))
    return lines


def _what(wait: Unfinished) -> str:
    return "the end of the next one" if wait.lock.kind == "join" else f"{wait.lock.kind} {wait.lock.name}"


def _by_place(waits: list[Unfinished]) -> list[str]:
    groups: dict[tuple, list[Unfinished]] = {}
    for one in waits:
        groups.setdefault((one.lock.kind, one.lock.name, one.site), []).append(one)
    lines = []
    for (kind, name, place), those in [*groups.items()][:_UNFINISHED]:
        who = f"{plural(len(those), 'thread')}, one " if len(those) > 1 else ""
        lines.append(wrapped(f"{who}{_how_long(those[0])}: {kind} {name}, at {place}", "    - ", "      "))
    if len(groups) > _UNFINISHED:
        lines.append(f"    {len(groups) - _UNFINISHED} more places; -o DIR has them")
    return lines


def _still_waiting(lock: Lock, profile: Profile) -> int:
    return sum(one.lock is lock for one in profile.unfinished)


def _how_long(wait: Unfinished) -> str:
    if wait.age_ns is None:
        return f"since {time(wait.after_start_ns)} after the start of process {wait.pid}"
    return f"for {time(wait.age_ns)}"


def _rest(profile: Profile, waited: list[Lock], top: int) -> list[str]:
    lines = []
    if len(waited) > top:
        rest = sum(lock.wait_ns + lock.timed_out_ns for lock in waited[top:])
        lines.append(f"{plural(len(waited) - top, 'lock')} more: {time(rest)} waited; --top shows more")
    idle = [
        lock for lock in profile.locks if not lock.contended and not lock.timeouts and not _still_waiting(lock, profile)
    ]
    if idle:
        taken = sum(lock.acquisitions for lock in idle)
        lines.append(f"{plural(len(idle), 'lock')} without a wait, taken {taken:,} times")
    return ["", *lines] if lines else []


def _conds(profile: Profile) -> list[str]:
    if not profile.conds:
        return []
    lines = ["", "Condition variables, by the thread that signals:"]
    for cond in profile.conds[:_CONDS]:
        mode = cond.modes[EXCLUSIVE]
        waits = f"{plural(mode.acquisitions, 'wait')}, {time(mode.wait_ns)}; {_signals(cond)}"
        if cond.timeouts:
            waits += f", {cond.timeouts:,} timeouts"
        if still := _still_waiting(cond, profile):
            waits += f"; {plural(still, 'thread')} still waited at the end"
        lines.append(wrapped(f"{_named(cond)}: {waits}", "    ", "      "))
        lines += _in_vain(cond)
        lines += _cond_pairs(cond)
    if len(profile.conds) > _CONDS:
        lines.append(f"    {len(profile.conds) - _CONDS} more; -o DIR has them")
    return lines


def _signals(cond: Lock) -> str:
    counts = ((cond.signals - cond.broadcasts, "signal"), (cond.broadcasts, "broadcast"))
    return " and ".join(plural(count, word) for count, word in counts if count) or "no signal"


def _in_vain(cond: Lock) -> list[str]:
    if cond.woken_in_vain < _MOSTLY * cond.woken_with_all or not cond.woken_in_vain:
        return []
    found = cond.woken_with_all - cond.woken_in_vain
    text = (
        f"{found:,} of {cond.woken_with_all:,} threads that broadcasts woke found work, the others waited again at "
        "once: signal instead of broadcast, where any one thread will do"
    )
    return [wrapped(text, "    - ", "      ")]


def _meetings(profile: Profile) -> list[str]:
    if not profile.meetings:
        return []
    lines = ["", "Semaphores, barriers and joins, by the thread that ends the wait:"]
    for one in profile.meetings[:_CONDS]:
        mode = one.modes[EXCLUSIVE]
        calls = plural(mode.acquisitions, "call")
        words = f"{calls}, {mode.contended:,} waited {time(mode.wait_ns)}"
        if one.kind == "semaphore":
            words += f"; {plural(one.signals, 'post')}"
        if one.timeouts:
            words += f", {one.timeouts:,} timeouts"
        if still := _still_waiting(one, profile):
            words += f"; {plural(still, 'thread')} still waited at the end"
        lines.append(wrapped(f"{one.kind} {_named(one)}: {words}", "    ", "      "))
        lines += _cond_pairs(one)
    if len(profile.meetings) > _CONDS:
        lines.append(f"    {len(profile.meetings) - _CONDS} more; -o DIR has them")
    return lines


def _cond_pairs(cond: Lock) -> list[str]:
    """A signal to one of several waiters found the others without work: those waits are idle ones."""
    pairs = cond.by_sites()
    lines = []
    for pair in [one for one in pairs if one.holder.mode == EXCLUSIVE][:_PAIRS]:
        event, does = _ENDS[cond.kind]
        head = f"{time(pair.wait_ns)} in {plural(pair.waits, 'wait')}"
        if pair.until_release_ns:
            head += f", {time(pair.wait_ns - pair.until_release_ns)} of it after {event}"
        lines += [
            wrapped(f"{head}:", "    - ", "      "),
            wrapped(f"{does} {pair.holder.site}", "      ", "        "),
            wrapped(f"{'waits at':{len(does)}} {pair.waiter.site}", "      ", "        "),
        ]
    idle = [one for one in pairs if one.holder.mode == SHARED]
    if idle:
        ns, waits = sum(one.wait_ns for one in idle), sum(one.waits for one in idle)
        places = ", ".join(sorted({str(one.waiter.site) for one in idle})[:_PAIRS])
        text = f"idle: {time(ns)} in {plural(waits, 'wait')}, while other threads waited there too: {places}"
        lines.append(wrapped(text, "    - ", "      "))
    return lines


def _sleeps(profile: Profile) -> list[str]:
    """The kernel knows how often threads slept: of a process that came to its end, and of what the command ran."""
    whole = [one for one in profile.processes if one["ended"]]
    slept = sum(one["slept"] for one in whole)
    if len(whole) < len(profile.processes) or profile.is_window:
        slept = profile.run.slept
    if not slept:
        return []
    seen = sum(lock.contended for lock in [*profile.locks, *profile.conds, *profile.meetings])
    seen += sum(lock.timeouts for lock in [*profile.locks, *profile.meetings])  # of conds they are among those
    text = f"Threads slept {plural(slept, 'time')}; {plural(seen, 'wait')} {'is' if seen == 1 else 'are'} seen"
    if profile.unfinished:
        text += f", and {len(profile.unfinished)} that had not ended"
        seen += len(profile.unfinished)
    if slept <= seen:
        return [f"{text}."]
    return [f"{text}, so {slept - seen:,} or more were for files, sockets, time, or a futex that is not seen."]


def _coverage(profile: Profile) -> list[str]:
    waits = sum(mode.long_waits for lock in profile.locks for mode in lock.modes.values())
    pairs = [pair for lock in profile.locks for pair in lock.pairs.values()]
    known = sum(pair.waits for pair in pairs if pair.holder.stack)
    words = []
    if waits:
        words.append(
            f"Of {plural(waits, 'wait')} of {time(profile.threshold_ns)} and more, {known} have a holder with a name."
        )
    words.append(
        "Not seen: waits on futexes of a program's or language's own (Go, abseil, std::atomic), inside the C library, "
        "and in static programs."
    )
    words += _sleeps(profile)
    gone = sum(not one["ended"] and not one.get("runs") for one in profile.processes)
    if gone:
        words.append(f"{plural(gone, 'process')} ended without exit, or by exec.")
    if dropped := {name: count for name, count in profile.dropped.items() if name in _DROPPED and count}:
        words.append(f"Left out: {', '.join(f'{count:,} {_DROPPED[name]}' for name, count in dropped.items())}.")
    if profile.changed:
        words.append(f"Not the files that ran, so without names: {', '.join(profile.changed)}.")
    lines = [wrapped(" ".join(words), "", "  ")]
    cost = f"Profiling itself cost about {time(profile.cost_ns)} of processor time"
    if profile.run.cpu_s:
        cost += f", {share(profile.cost_ns / 1e9 / profile.run.cpu_s)} of the program's"
    return [*lines, wrapped(f"{cost} (estimated).", "", "  ")]
