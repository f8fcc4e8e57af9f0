"""What the audit says of a swap: of rwlocks, mutexes and condition variables each, and of all in one line."""

from dataclasses import dataclass

from lockswap.audit.findings import CONDVARS, KINDS, LOOK, MUTEXES, RWLOCKS, Audit
from lockswap.base.text import plural, words
from lockswap.run import reached

SAFE, UNUSED, UNSEEN, UNKNOWN = "safe", "unused", "unseen", "unknown"
# Whatever the run did, the audit has not looked at these.
NEVER_SEEN = (
    "of mutexes, whether one is copied or initialised again while it is held, and whether a library's calls go "
    "around the preload",
    "of condition variables, whether one is destroyed or copied while a thread waits for it",
    "other locks: spin locks, barriers, semaphores, C11's mtx_ and cnd_, futexes, and what the program builds itself",
)
_ONE = {RWLOCKS: "rwlock", MUTEXES: "mutex", CONDVARS: "condition variable"}
# By what the library passes through to glibc.
_GLIBCS_MUTEXES = {
    "mutex_robust": "robust",
    "mutex_inherit": "priority-inheriting",
    "mutex_protect": "priority-protected",
    "mutex_process_shared": "process-shared",
}


@dataclass(frozen=True)
class Verdict:
    level: str  # SAFE, UNUSED, UNSEEN, UNKNOWN or LOOK
    says: str


def of_each(audit: Audit) -> dict[str, Verdict]:
    """By kind: RWLOCKS, MUTEXES, CONDVARS."""
    if not audit.processes:
        return dict.fromkeys(KINDS, Verdict(UNSEEN, "not looked at: no process could be looked at"))
    found = {RWLOCKS: _rwlocks(audit), MUTEXES: _mutexes(audit), CONDVARS: _condvars(audit)}
    for kind in KINDS:
        look = [
            f"{f.meaning.title} ({plural(f.times, 'time')})"
            for f in audit.findings
            if f.meaning.level == LOOK and kind in f.kinds and found[kind].level != UNUSED
        ]
        if look:
            found[kind] = Verdict(LOOK, f"look at: {'; '.join(look)}")
        elif audit.ended and found[kind].level == SAFE:
            found[kind] = Verdict(UNKNOWN, f"not known: {audit.ended}; nothing stood against a swap until then")
        elif audit.ended:
            found[kind] = Verdict(UNUSED, f"not used until then: no {_ONE[kind]} function was called")
    return found


def level(audit: Audit) -> str:
    """LOOK, UNKNOWN, UNUSED or SAFE."""
    if _found(audit):
        return LOOK
    if audit.ended or not audit.processes or _only_wrappers(audit):
        return UNKNOWN
    return SAFE if _used(audit) else UNUSED


def is_safe(audit: Audit) -> bool:
    return level(audit) == SAFE


def is_failure(audit: Audit) -> bool:
    """For a gate: there is something to look at, or nothing was seen."""
    return level(audit) in (LOOK, UNKNOWN)


def summary(audit: Audit) -> str:
    """The last line."""
    used, what = _used(audit), level(audit)
    if what == LOOK:
        return f"look at: {'; '.join(_found(audit))}" + (
            f"; {audit.ended}, so the rest is not known" if audit.ended else ""
        )
    if what == UNKNOWN:
        return f"not known: {_why_unknown(audit)}"
    if what == UNUSED:
        return "nothing to swap: no lock function was called in this run, though other runs may call some"
    if used == [KINDS[RWLOCKS]] and _all_shared(audit):
        return "safe: all rwlocks are process-shared and stay glibc's, so a swap would change nothing"
    text = f"safe: nothing in this run stands against swapping the {words(used)}"
    unused = [KINDS[kind] for kind, verdict in of_each(audit).items() if verdict.level == UNUSED]
    return f"{text}; it uses no {' and no '.join(unused)}" if KINDS[RWLOCKS] in unused else text


def in_calls(audit: Audit) -> str:
    """How many threads there were in lock calls."""
    count = len(audit.inside)
    return f"{plural(count, 'thread')} {'was' if count == 1 else 'were'} in a lock call"


def _found(audit: Audit) -> list[str]:
    """What to look at; that no process was seen is no finding."""
    return audit.look if audit.processes or audit.hindrances else []


def _used(audit: Audit) -> list[str]:
    calls = {RWLOCKS: audit.rwlock_calls, MUTEXES: audit.mutex_calls, CONDVARS: audit.cond_calls}
    return [KINDS[kind] for kind, count in calls.items() if count]


def _why_unknown(audit: Audit) -> str:
    used = _used(audit)
    if audit.never_started:
        return f"{audit.ended}; this run shows nothing about a swap"
    if audit.ended and used:
        inside = f"; {in_calls(audit)} then" if audit.inside else ""
        return f"{audit.ended}; nothing stood against swapping the {words(used)} until then{inside}"
    if audit.ended:
        return f"{audit.ended}, and no lock function was called until then"
    if not audit.processes:
        return "no process of it could be looked at"
    names = sorted({process["program"] for process in audit.processes})
    verb = "was" if len(names) == 1 else "were"
    return f"only {words(names)} {verb} looked at, without a call of a lock function; nothing else left a record"


def _only_wrappers(audit: Audit) -> bool:
    """Programs that start others were seen, and nothing of the others."""
    return not _used(audit) and all(reached.is_wrapper(process["program"]) for process in audit.processes)


def _all_shared(audit: Audit) -> bool:
    return audit.counts["rw_process_shared"] == audit.counts["rwlocks"] != 0


def _rwlocks(audit: Audit) -> Verdict:
    if not audit.rwlock_calls:
        return Verdict(UNUSED, "not used: no rwlock function was called, so --rwlock would change nothing")
    if _all_shared(audit):
        return Verdict(SAFE, "safe: all are process-shared and stay glibc's, so --rwlock would change nothing")
    return Verdict(SAFE, "safe: nothing in this run stands against --rwlock")


def _mutexes(audit: Audit) -> Verdict:
    c = audit.counts
    taken = c["mutex_acquired"]
    if not audit.mutex_calls:
        return Verdict(UNUSED, "not used: no mutex function was called, so --mutex would change nothing")
    glibcs = {what: c[name] for name, what in _GLIBCS_MUTEXES.items() if c[name]}
    if taken and taken in glibcs.values():
        kind = next(what for what, count in glibcs.items() if count == taken)
        return Verdict(SAFE, f"safe: all that were taken are {kind} and stay glibc's, so --mutex would change nothing")
    acquisitions = f"{taken:,} acquisition{'' if taken == 1 else 's'}"
    stay = f"; glibc's stay: {words(f'{count:,} {what}' for what, count in glibcs.items())}" if glibcs else ""
    return Verdict(SAFE, f"safe: nothing in this run stands against --mutex, {acquisitions}{stay}")


def _condvars(audit: Audit) -> Verdict:
    c = audit.counts
    waits, shared = c["cond_waits"], c["cond_waits_process_shared"]
    if not audit.cond_calls:
        return Verdict(UNUSED, "not used: no condition variable function was called")
    if waits and waits == shared:
        return Verdict(SAFE, "safe: all waits are on process-shared ones, which stay glibc's")
    stay = f"; glibc's stay: {shared:,} on process-shared ones" if shared else ""
    return Verdict(
        SAFE,
        f"safe: they follow the mutexes, and nothing in this run stands against that, {plural(waits, 'wait')}{stay}",
    )
