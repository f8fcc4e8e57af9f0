"""What the audit says of a swap: of rwlocks, mutexes and condition variables each, and of all in one line."""

from dataclasses import dataclass

from lockswap.audit.findings import CONDVARS, KINDS, LOOK, MUTEXES, RWLOCKS, Audit
from lockswap.base.text import plural, words

SAFE, UNUSED, UNSEEN = "safe", "unused", "unseen"
# Whatever the run did, the audit has not looked at these.
NEVER_SEEN = (
    "of mutexes, whether one is destroyed or copied while it is held, or held across a fork, and whether a library's "
    "calls go around the preload",
    "of condition variables, whether one is destroyed or copied while a thread waits for it",
    "other locks: spin locks, barriers, semaphores, C11's mtx_ and cnd_, futexes, and what the program builds itself",
)
# By what the library passes through to glibc.
_GLIBCS_MUTEXES = {
    "mutex_robust": "robust",
    "mutex_inherit": "priority-inheriting",
    "mutex_protect": "priority-protected",
    "mutex_process_shared": "process-shared",
}


@dataclass(frozen=True)
class Verdict:
    level: str  # SAFE, UNUSED, UNSEEN or LOOK
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
    return found


def summary(audit: Audit) -> str:
    """The last line."""
    if audit.look:
        return f"look at: {'; '.join(audit.look)}"
    verdicts = of_each(audit)
    used = [KINDS[kind] for kind, verdict in verdicts.items() if verdict.level == SAFE]
    unused = [KINDS[kind] for kind, verdict in verdicts.items() if verdict.level == UNUSED]
    if not used:
        return "safe: no lock function was called, so a swap would change nothing"
    if used == [KINDS[RWLOCKS]] and _all_shared(audit):
        return "safe: all rwlocks are process-shared and stay glibc's, so a swap would change nothing"
    text = f"safe: nothing in this run stands against swapping the {words(used)}"
    return f"{text}; it uses no {' and no '.join(unused)}" if KINDS[RWLOCKS] in unused else text


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
    stay = f"; glibc's stay: {words(f'{count:,} {what}' for what, count in glibcs.items())}" if glibcs else ""
    return Verdict(SAFE, f"safe: nothing in this run stands against --mutex, {taken:,} acquisitions{stay}")


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
