"""What `lockswap why` says of a process: deadlocks, the threads at their roots, waits alike, and what holders do."""

from lockswap.base.text import plural, time
from lockswap.profile import live
from lockswap.profile.live import DESTROY, ENDED_BY_ANYBODY, INITIALISED, SHARED, Hold, Signal, State, Thread, Wait

_FRAMES = 12  # of a stack
_ROOTS = 5
_CIRCLES = 5
_HOLDERS = 12
_TIDS = 3  # of threads that are one line
_UNTIL = ", and waits until a deadline"
_ENDS = {
    "semaphore": "a post by any thread ends that",
    "barrier": "the last of its threads to arrive ends that",
}

# What is not known of a wait if only memory is there to be asked.
_IN_MEMORY = {
    "rwlock": "held for reading: glibc's rwlock counts its readers, and doesn't note which threads they are",
    "cond": "a signal ends that; which thread would send it isn't known",
    "once": "another thread runs it; which one isn't noted anywhere",
    "guard": "another thread runs it; which one isn't noted anywhere",
    "internal": "a lock inside glibc, such as malloc's or stdio's, which doesn't say who holds it",
    "futex": "not a lock of glibc's that is known here, so only the program knows who ends that",
}


def as_text(state: State) -> str:
    waiting = [one for one in state.threads.values() if one.wait is not None]
    waiting.sort(key=lambda one: -_wait(one).age_ns)
    lines = [f"lockswap why: {state.program} (process {state.pid}): {_summary(state, waiting)}"]
    circles = state.circles()
    for cycle in circles[:_CIRCLES]:
        lines += ["", *_cycle(state, cycle)]
    if len(circles) > _CIRCLES:
        lines += ["", f"And {plural(len(circles) - _CIRCLES, 'cycle')} more: --json has all."]
    if roots := state.roots():
        lines.append("")
        for root, others in roots[:_ROOTS]:
            many = plural(others, "thread")
            lines.append(f"Without {root}, which {_does(root, root in state.handed.values())}, {many} cannot go on.")
    for group in _alike(state, waiting):
        lines += ["", *_waiters(state, group)]
    shown = {one.tid for thread in waiting for one in state.blockers(thread) if one.wait is None}
    for thread in (state.threads[tid] for tid in sorted(shown)):
        lines += ["", f"{_named(thread)} {_does(thread)}.", *_holds(state, thread), *_now(thread)]
    others = [one for one in state.threads.values() if one.wait is None and one.tid not in shown]
    rest = [one for one in others if one.holds]
    for thread in rest:
        lines += ["", f"{_named(thread)} {_does(thread)}.", *_holds(state, thread), *_now(thread)]
    idle = len(others) - len(rest) + state.unseen
    if idle:
        do = "waits" if idle == 1 else "wait"
        if state.is_recorded:
            do = f"{'holds' if idle == 1 else 'hold'} nothing and {do}"
        lines += ["", f"{plural(idle, 'thread')} more {do} for no lock."]
    if state.note:
        lines += ["", state.note]
    return "".join(f"{line}\n" for line in lines)


def as_data(state: State) -> dict:
    def hold(one: Hold) -> dict:
        return _lock(one.lock) | {
            "mode": one.mode,
            "age_ns": None if one.age_ns < 0 else one.age_ns,
            "place": str(one.place) if one.place else None,
        }

    def wait(one: Wait) -> dict:
        return _lock(one.lock) | {
            "mutex": one.mutex or None,
            "mode": one.mode,
            "age_ns": None if one.age_ns < 0 else one.age_ns,
            "has_deadline": one.has_deadline,
            "place": str(one.place),
            "stack": [str(frame) for frame in one.stack],
        }

    return {
        "pid": state.pid,
        "program": state.program,
        "recorded": state.is_recorded,
        "longest_stop_ns": state.longest_stop_ns,
        "cycles": [[one.tid for one in cycle] for cycle in state.cycles()],
        "circles_until_a_deadline": [
            [one.tid for one in circle]
            for circle in state.circles()
            if any(state.has_deadline(thread) for thread in circle)
        ],
        "nobody_left": state.nobody_left,
        "unless_a_signal_handler": state.catches_signals if state.nobody_left else None,
        "roots": [{"tid": one.tid, "threads": others} for one, others in state.roots()],
        "threads": [
            {
                "tid": one.tid,
                "name": one.name,
                "state": one.state or one.gone,
                "process": one.process or None,
                "waits": wait(one.wait) if one.wait else None,
                "left": wait(one.left) if one.left else None,
                "blocked_by": [other.tid for other in state.blockers(one)],
                "holds": [hold(each) for each in one.holds],
                "stack_now": one.stack,
            }
            for one in state.threads.values()
        ],
    }


def _lock(lock: live.Lock) -> dict:
    return {"kind": lock.kind, "address": lock.address, "lock": lock.name}


def _wait(thread: Thread) -> Wait:
    assert thread.wait is not None
    return thread.wait


def _named(thread: Thread) -> str:
    return f"T{str(thread)[1:]}"


def _does(thread: Thread, is_away: bool = False) -> str:
    if is_away:
        return f"waited for {_wait(thread).lock} and {thread.state}"
    if thread.wait is not None:
        return f"waits for {thread.wait.lock}"
    if not thread.state:
        return thread.gone
    return f"waits for no lock and {thread.state}"


def _summary(state: State, waiting: list[Thread]) -> str:
    cycles = state.cycles()
    if cycles:
        return "a deadlock" if len(cycles) == 1 else f"{len(cycles)} deadlocks"
    if not waiting:
        return "no thread waits for a lock"
    if left := state.left_locked():
        lock, other = left[0]
        return f"{_count(waiting)}, and {lock} is held by {other}, which {other.gone}"
    if state.handed:
        other = next(iter(state.handed.values()))
        lock = _wait(other).lock
        return f"{_count(waiting)}, and {lock} was handed to {other}, which {other.state}"
    if state.nobody_left:
        count = len(state.nobody_left)
        everybody = {1: "the only thread waits", 2: "both threads wait"}.get(count, f"all {count} threads wait")
        if state.catches_signals:
            return f"{everybody}, and only a signal handler of the program could end that"
        return f"a deadlock: {everybody}, and none is left to end that"
    open_ended = sum(_is_open(state, one) for one in waiting)
    if open_ended:
        whose = "the wait" if len(waiting) == 1 else f"{open_ended} of the waits"
        return f"{_count(waiting)}, no cycle; any thread may end {whose}"
    return f"{_count(waiting)}, no deadlock"


def _is_open(state: State, thread: Thread) -> bool:
    """Whether it isn't known which thread could end the wait."""
    wait = _wait(thread)
    return wait.lock.kind in (*ENDED_BY_ANYBODY, *INITIALISED) and not state.blockers(thread)


def _count(waiting: list[Thread]) -> str:
    return f"{plural(len(waiting), 'thread')} {'waits' if len(waiting) == 1 else 'wait'}"


def _cycle(state: State, cycle: list[Thread]) -> list[str]:
    ends = [one for one in cycle if state.has_deadline(one)]
    kind = "A cycle" if ends else "Deadlock"
    if len(cycle) == 1:
        until = _UNTIL if ends else ""
        return [f"{kind}: {_named(cycle[0])} waits for {_wait(cycle[0]).lock}, which it holds itself{until}."]
    who = " or ".join(str(one.tid) for one in ends)
    end = f", which ends when thread {who} gives up at its deadline" if ends else ""
    lines = [f"{kind} of {plural(len(cycle), 'thread')}{end}:"]
    for one, other in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
        wait = _wait(one)
        if wait.lock.kind == "join":
            lines.append(f"  {_named(one)} waits for the end of thread {other.tid}")
            continue
        if wait.mode == DESTROY:
            lines.append(f"  {_named(one)} destroys {wait.lock}, for which thread {other.tid} waits")
            continue
        if state.is_signalled(wait):
            mutex = next(hold.lock for hold in other.holds if hold.lock.address == wait.mutex)
            lines.append(f"  {_named(one)} was signalled, and waits for {mutex}, which thread {other.tid} holds")
            continue
        holds = any(hold.lock.address == wait.lock.address for hold in other.holds)
        verb = "runs" if wait.lock.kind in INITIALISED else "holds" if holds else "wants for writing"
        lines.append(f"  {_named(one)} waits for {wait.lock}, which thread {other.tid} {verb}")
    return lines


def _alike(state: State, waiting: list[Thread]) -> list[list[Thread]]:
    """Threads of which the same is to be said, but for the age of the wait; the oldest wait of each group first."""
    groups: dict[tuple, list[Thread]] = {}
    for thread in waiting:
        wait = _wait(thread)
        signals = state.signals.get(wait.lock.address, []) if wait.lock.kind == "cond" else []
        last = min(signals, key=lambda one: one.age_ns, default=None)
        key = (
            *(wait.lock, wait.mode, state.has_deadline(thread)),
            (wait.mutex, last, state.is_signalled(wait), last.age_ns > wait.age_ns) if last else None,
            tuple(sorted(one.tid for one in state.blockers(thread))),
            tuple((hold.lock, hold.mode, hold.place) for hold in thread.holds),
        )
        groups.setdefault((key, wait.stack), []).append(thread)
    # A wait soon after another one has only its line: it is taken for one of the stacks that begin with it.
    for (key, stack), threads in list(groups.items()):
        longer = [other for other in groups if other[0] == key and other[1][: len(stack)] == stack != other[1]]
        if longer:
            groups[longer[0]] = sorted(groups[longer[0]] + threads, key=lambda one: -_wait(one).age_ns)
            del groups[(key, stack)]
    return sorted(groups.values(), key=lambda threads: -_wait(threads[0]).age_ns)


def _several(threads: list[Thread]) -> str:
    if len(threads) == 1:
        return str(threads[0])
    tids = ", ".join(str(one.tid) for one in threads[:_TIDS]) + (", ..." if len(threads) > _TIDS else "")
    names = sorted({one.name for one in threads})
    return f"{len(threads)} threads ({', '.join(names[:_TIDS])}{', ...' if len(names) > _TIDS else ''}: {tids})"


def _waited(alike: list[Thread]) -> str:
    who = _named(alike[0]) if len(alike) == 1 else _several(alike)
    least, most = (time(_wait(alike[n]).age_ns) for n in (-1, 0))
    if _wait(alike[0]).age_ns < 0:
        return f"{who} {'waits' if len(alike) == 1 else 'wait'}"
    age = most if least == most else f"{least} to {most}"
    return f"{who} {'has' if len(alike) == 1 else 'have'} waited {age}"


def _waiters(state: State, alike: list[Thread]) -> list[str]:
    thread = alike[0]
    wait = _wait(thread)
    how = "" if wait.lock.kind != "rwlock" else " to read" if wait.mode == SHARED else " to write"
    if wait.mode == DESTROY:
        how = ", which it destroys"
    until = _UNTIL if state.has_deadline(thread) else ""
    lines = [f"{_waited(alike)} for {wait.lock}{how}{until}:"]
    lines += [f"    {'at' if n == 0 else '  '} {frame}" for n, frame in enumerate(wait.stack[:_FRAMES])]
    if wait.mode == DESTROY:
        lines.append(f"  waited for by {_several(state.blockers(thread))}, which must go on first")
    elif wait.lock.kind == "cond" and state.is_recorded:
        lines += _signals(state, wait)
    elif wait.lock.kind in _ENDS:
        lines.append(f"  {_ENDS[wait.lock.kind]}")
    elif wait.lock.kind == "join":
        other = state.joined(wait)
        known = f"{other}, which {_does(other)}" if other else "one that took no lock so far"
        lines.append(f"  it is {known}")
    else:
        lines += _blockers(state, thread, wait)
    return [*lines, *_holds(state, thread)]


def _blockers(state: State, thread: Thread, wait: Wait) -> list[str]:
    lines = []
    holders = state.holders(wait.lock.address)
    for other, hold in holders[:_HOLDERS]:
        who = "itself" if other is thread else str(other)
        gone = "" if other.state else f", which {other.gone}"
        reading = "for reading " if hold.mode == SHARED else ""
        held = "run" if wait.lock.kind in INITIALISED else "held"
        lines.append(f"  {held} {reading}by {who}{_since(state, other, hold)}{gone}")
    if len(holders) > _HOLDERS:
        lines.append(f"  and by {_several([other for other, _ in holders[_HOLDERS:]])}")
    writers = [one for one, each in state.waiters(wait.lock.address) if wait.mode == SHARED and each.mode != SHARED]
    if writers:
        lines.append(f"  wanted for writing by {_several(writers)}")
    if not lines:
        lines = [
            f"  handed to {one}, which left its call at {left.place}: it was cancelled there,"
            " or jumped out of a signal handler"
            for one, left in state.left(wait.lock.address)
        ]
    handed = state.handed.get(wait.lock.address)
    if handed is not None and not lines:
        who = "this thread" if handed is thread else str(handed)
        why = "is stopped" if handed.state == "is stopped" else f"{handed.state}, in a signal handler"
        lines = [f"  nobody holds it: it was handed to {who}, which can't take it: it {why}"]
        lines += _now(thread) if handed is thread else []
    if not lines and (not state.is_recorded or wait.lock.kind in (*INITIALISED, "internal")):
        return [f"  {_IN_MEMORY.get(wait.lock.kind, 'held by nobody at this moment')}"]
    return lines or ["  held by no thread that is seen: by another process, or since before the recording began"]


def _signals(state: State, wait: Wait) -> list[str]:
    signals = state.signals.get(wait.lock.address, [])
    if not signals:
        return ["  never signalled (each thread remembers only the last few condition variables that it signalled)"]
    last = min(signals, key=lambda one: one.age_ns)
    if last.age_ns > wait.age_ns:
        before = time(last.age_ns - wait.age_ns)
        return [f"  not signalled since; last {before} before the wait began, by {_signaller(last)}"]
    whom = "" if state.is_signalled(wait) else ", perhaps for another thread"
    lines = [f"  signalled {time(last.age_ns)} ago, by {_signaller(last)}{whom}"]
    for other, hold in state.holders(wait.mutex):
        lines.append(f"  its mutex is held by {other}{_since(state, other, hold)}")
    return lines


def _signaller(signal: Signal) -> str:
    return f"thread {signal.tid} at {signal.place}"


def _holds(state: State, thread: Thread) -> list[str]:
    return [
        f"  runs {hold.lock}"
        if hold.lock.kind in INITIALISED
        else f"  holds {hold.lock}{' for reading' if hold.mode == SHARED else ''}{_since(state, thread, hold)}"
        for hold in thread.holds
    ]


def _now(thread: Thread) -> list[str]:
    return [f"    {'now' if n == 0 else '   '} {frame}" for n, frame in enumerate(thread.stack[:_FRAMES])]


def _since(state: State, thread: Thread, hold: Hold) -> str:
    if not state.is_recorded or hold.lock.kind in INITIALISED:
        return ""
    where = f", taken at {hold.place}" if hold.place else ", taken out of the recording's sight"
    if hold.age_ns >= 0:
        return f" for {time(hold.age_ns)}{where}"
    # It was there when its thread began to wait, or took the next lock. Those who wait for it prove nothing: other
    # readers, or a thread that took the lock again at once, may have had it when they came.
    after = thread.holds[thread.holds.index(hold) + 1 :] if hold in thread.holds else []
    ages = [one.age_ns for one in after]
    if thread.wait is not None and hold.place:
        ages.append(thread.wait.age_ns)
    least = max(ages, default=-1)
    return f" for at least {time(least)}{where}" if least >= 0 else where.removeprefix(",")
