"""A choice: what runs under a program, and the label by which everything else knows it.

    none            the program as it is, without the library
    ba              a reader-writer lock; mutexes are glibc's, untouched
    mutex:mcs       a mutex; reader-writer locks are glibc's, passed through
    ba+mutex:mcs    both
    range:list-rw   a range lock, in programs that call those; the others are glibc's

`pthread` and `mutex:pthread` are glibc's own, passed through. Labels are read and made here and nowhere else.
"""

from dataclasses import dataclass

from lockswap.errors import UserError
from lockswap.registry import MUTEX_PTHREAD, NONE, PTHREAD, RANGE_MARK, Registry

RWLOCK, MUTEX, RANGE = "rwlock", "mutex", "range"  # kinds of locks
_MARK = "mutex:"
_ONLY_NONE = f"'{NONE}' is the program without lockswap, so it goes with no other lock; glibc's is '{PTHREAD}'"


@dataclass(frozen=True)
class Choice:
    rwlock: str
    mutex: str | None = None  # None: not touched
    range_lock: str | None = None  # the same; with PTHREAD alone

    @classmethod
    def of(cls, label: str) -> "Choice":
        """From a label; its names are not looked up."""
        if label.startswith(RANGE_MARK):
            return cls(PTHREAD, None, label.removeprefix(RANGE_MARK))
        first, _, second = label.partition("+")
        if first.startswith(_MARK):
            return cls(PTHREAD, first.removeprefix(_MARK))
        return cls(first, second.removeprefix(_MARK) if second else None)

    @property
    def label(self) -> str:
        if self.range_lock is not None:
            return RANGE_MARK + self.range_lock
        if self.mutex is None:
            return self.rwlock
        mutex = _MARK + self.mutex
        return mutex if self.rwlock == PTHREAD else f"{self.rwlock}+{mutex}"

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds of locks that are under test, or the baseline of some that are."""
        if self.rwlock == NONE:
            return frozenset()
        if self.range_lock is not None:
            return frozenset({RANGE})
        if self.mutex is None:
            return frozenset({RWLOCK})
        return frozenset({MUTEX}) if self.rwlock == PTHREAD else frozenset({RWLOCK, MUTEX})

    @property
    def variables(self) -> dict[str, str]:
        """For the library; empty for `none`."""
        if self.rwlock == NONE:
            return {}
        found = {"LOCKSWAP_RWLOCK": self.rwlock, "LOCKSWAP_MUTEX": self.mutex, "LOCKSWAP_RANGE": self.range_lock}
        return {name: value for name, value in found.items() if value}


def kinds_of(labels: list[str]) -> frozenset[str]:
    """Kinds of locks that are under test in any of them."""
    return frozenset().union(*(Choice.of(label).kinds for label in labels))


def chosen(registry: Registry, rwlock: str | None, mutex: str | None) -> Choice:
    """From names that people typed; UserError if there is no such lock."""
    one = None if rwlock is None else registry.rwlock(rwlock)
    other = None if mutex is None else registry.mutex(mutex)
    if NONE in (one, other):
        if one and other and one != other:
            raise UserError(_ONLY_NONE)
        return Choice(NONE)
    return Choice(one or PTHREAD, other)


def parse(registry: Registry, text: str) -> Choice:
    """A label that people typed: 'ba', 'mutex:mcs', 'ba+mutex:mcs', 'range:list-rw'."""
    if text.strip().lower().startswith(RANGE_MARK):
        return Choice.of(registry.range_lock(text.strip()[len(RANGE_MARK) :]))
    first, plus, second = text.strip().partition("+")
    if first.lower().startswith(_MARK) and not plus:
        return chosen(registry, None, first[len(_MARK) :])
    if plus and not second.lower().startswith(_MARK):
        raise UserError(f"'{text}' is no choice of locks; write 'ba', 'mutex:mcs' or 'ba+mutex:mcs'")
    return chosen(registry, first, second[len(_MARK) :] if plus else None)


def product(registry: Registry, rwlocks: list[str], mutexes: list[str]) -> list[str]:
    """Labels of each of these rwlocks with each of these mutexes; of one kind alone, if the other has no names.

    Without 'none', which is measured anyhow.
    """
    first, second = _named(rwlocks, registry.rwlock), _named(mutexes, registry.mutex)
    if (first == [] and any(second)) or (second == [] and any(first)):
        raise UserError(_ONLY_NONE)
    wanted = [chosen(registry, rwlock, mutex).label for rwlock in first for mutex in second]
    return list(dict.fromkeys(wanted))


def range_labels(registry: Registry, names: list[str]) -> list[str]:
    """Labels of range locks that people named."""
    return list(dict.fromkeys(map(registry.range_lock, names)))


def _named(names: list[str], look_up) -> list[str | None]:
    found = [look_up(name) for name in names]
    return [name for name in found if name != NONE] if found else [None]


def baseline(labels: list[str]) -> str:
    """glibc's own, passed through as far as any of these replaces it."""
    return MUTEX_PTHREAD if MUTEX in kinds_of(labels) else PTHREAD


def with_baselines(labels: list[str], against: str | None = None) -> list[str]:
    """Both baselines first, whatever was asked for, then what the others are held against."""
    wanted = [against, *labels] if against else labels
    first = [NONE, baseline(wanted)]
    return [*first, *(label for label in dict.fromkeys(wanted) if label not in (*first, PTHREAD))]
