"""Which of glibc's locks a thread waits for: the functions that it is in say it, or else the words in memory.

The offsets are those of nptl on x86-64 and aarch64, the same from 2.25 to 2.43 but for condition variables, whose
signals moved with 2.41 (docs/interposition.md).
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from lockswap.outside.target import FutexWait, Target

EXCLUSIVE, SHARED = "exclusive", "shared"

# pthread_mutex_t, in words
_OWNER, _USERS, _KIND = 2, 3, 4
_MUTEX_WORDS = 5
_MOST_USERS = 1 << 20
_KINDS = 0x3FF  # the bits of a mutex's kind
_OWNER_MASK = 0x3FFFFFFF  # of a robust or priority-inheriting mutex's word
_NO_OWNERS = (0, 0x7FFFFFFF, 0x7FFFFFFE)  # a robust mutex that is inconsistent, or can't be used any more

# pthread_rwlock_t, in bytes
_PHASE, _WRITERS, _CURRENT_WRITER = 8, 12, 24
_PHASE_IN_USE = 2

# struct pthread
_MOST_BEHIND = 384  # words from its thread's number to the state of its join; 214 in 2.43
_MOST_JOIN_STATE = 7

_BARRIER_ROUND = 4
_ONCE_IN_PROGRESS = 1  # above it stands how often the process had forked
_LOCKED_AND_WAITED = 2  # the word of a normal mutex for which somebody waits

# pthread_cond_t: the first of its two words of signals
_SIGNALS, _NEW_SIGNALS = 40, 32

# In this order: a wait for a condition ends with one for the mutex.
_FUNCTIONS = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"_*(GI_+)?(pthread_mutex_\w*lock\w*|lll_lock_wait|mtx_\w*lock)$", "mutex"),
        (r"_*(GI_+)?lll_lock_wait_private$", "internal"),
        (r"_*(GI_+)?pthread_rwlock_\w+$", "rwlock"),
        (r"_*(GI_+)?(pthread_cond_\w*wait\w*|cnd_\w*wait)$", "cond"),
        (r"_*(GI_+)?(new_|old_)?sem_\w*wait\w*$", "semaphore"),
        (r"_*(GI_+)?pthread_barrier_wait$", "barrier"),
        (r"_*(GI_+)?(pthread_(timed|clock|try)?join\w*|thrd_join)$", "join"),
        (r"_*(GI_+)?(pthread_once\w*|call_once)$", "once"),
        (r"__cxa_guard_acquire$", "guard"),
    )
)


@dataclass(frozen=True)
class Waited:
    """What a thread waits for. `owner` holds it exclusively; 0: nobody does, or it isn't known."""

    kind: str  # "futex": not one of glibc's, or it isn't known which
    address: int
    mode: str = EXCLUSIVE
    owner: int = 0


def waited_for(target: Target, wait: FutexWait, functions: Sequence[str], tids: Collection[int]) -> Waited:
    """`functions` are those between the system call and the program, "" for each without a name.

    `tids` has the process's threads, by the numbers that it has for them itself.
    """
    kind = _by_name(wait, functions) or _by_memory(target, wait, tids)
    if kind == "mutex":
        return _with_owner(target, Waited("mutex", wait.address))
    if kind == "rwlock":
        return _rwlock(target, wait)
    if kind == "cond":
        return Waited("cond", cond_begin(target, wait.address))
    if kind == "barrier":
        return Waited("barrier", wait.address - _BARRIER_ROUND)
    if kind == "join":
        return Waited("join", wait.address, EXCLUSIVE, _joined(target, wait, tids))
    return Waited(kind, wait.address)


def _by_name(wait: FutexWait, functions: Sequence[str]) -> str:
    if wait.inherits_priority:
        return "mutex"
    found = {kind for pattern, kind in _FUNCTIONS for one in functions if pattern.match(one)}
    if not found and functions and not any(functions) and _may_be_once(wait):
        return "once"  # the only one of glibc's functions without names that has such a word
    if found == {"cond"} and wait.is_plain and wait.value == _LOCKED_AND_WAITED:
        return "mutex"  # where the function that takes it again has no name
    return next((kind for _, kind in _FUNCTIONS if kind in found), "")


def _may_be_once(wait: FutexWait) -> bool:
    return wait.is_plain and wait.is_private and wait.value & 3 == _ONCE_IN_PROGRESS


def _by_memory(target: Target, wait: FutexWait, tids: Collection[int]) -> str:
    """The function's names are missing where it was left by a jump, or the program has no symbols."""
    if _joined(target, wait, tids):
        return "join"
    words = target.words(wait.address, _MUTEX_WORDS)
    if words is None:
        return "futex"
    owner = words[_OWNER]
    is_locked = wait.value == _LOCKED_AND_WAITED or wait.value & _OWNER_MASK == owner
    if owner in tids and is_locked and words[_USERS] < _MOST_USERS and words[_KIND] <= _KINDS:
        return "mutex"
    waiters, private = words[1], words[2]
    if wait.value == 0 and not wait.is_plain and 0 < waiters < _MOST_USERS and private in (0, 0x80):
        return "semaphore"
    return "futex"


def _with_owner(target: Target, waited: Waited) -> Waited:
    return replace(waited, owner=owner_of(target, waited))


def _joined(target: Target, wait: FutexWait, tids: Collection[int]) -> int:
    """The thread whose end is waited for; 0: it is no join. Its number is the word that is waited for, until 2.42.

    Since 2.43 that is a word for the state of its join, behind the number in the same descriptor.
    """
    if wait.is_private:
        return 0
    if wait.value in tids:
        return wait.value if target.word(wait.address) == wait.value else 0
    if wait.value > _MOST_JOIN_STATE or target.machine.descriptor_to_tid is None:
        return 0
    words = target.words(wait.address - 4 * _MOST_BEHIND, _MOST_BEHIND) or ()
    for n, word in enumerate(words):
        descriptor = wait.address - 4 * (_MOST_BEHIND - n) - target.machine.descriptor_to_tid
        if word in tids and target.word(descriptor, 8) == descriptor:  # it begins with its own address
            return word
    return 0


def owner_of(target: Target, waited: Waited) -> int:
    """The thread that holds a mutex, or an rwlock exclusively; 0: none."""
    if waited.kind == "mutex":
        return _mutex_owner(target, waited.address)
    return target.word(waited.address + _CURRENT_WRITER) or 0 if waited.kind == "rwlock" else 0


def _mutex_owner(target: Target, address: int) -> int:
    owner = target.word(address + 4 * _OWNER) or 0
    if owner in _NO_OWNERS:
        word = target.word(address) or 0
        owner = word & _OWNER_MASK if word & ~3 else 0
    return 0 if owner in _NO_OWNERS else owner


def _rwlock(target: Target, wait: FutexWait) -> Waited:
    """A reader waits for the end of the writers' phase, or at the count of readers if it prefers a writer.

    A writer waits for its turn among writers, and then for the end of the readers' phase.
    """
    if wait.address % 8 == _WRITERS % 8:
        begin, mode = wait.address - _WRITERS, EXCLUSIVE
    elif wait.value in (_PHASE_IN_USE, _PHASE_IN_USE | 1):
        begin, mode = wait.address - _PHASE, SHARED if wait.value & 1 else EXCLUSIVE
    else:
        begin, mode = wait.address, SHARED
    return _with_owner(target, Waited("rwlock", begin, mode))


def cond_begin(target: Target, address: int) -> int:
    """Where the condition variable begins that has this word of signals."""
    first = address - address % 8
    return first - (_NEW_SIGNALS if target.libc_version() >= (2, 41) else _SIGNALS)


def is_lock_function(name: str) -> bool:
    return any(pattern.match(name) for pattern, _ in _FUNCTIONS)
