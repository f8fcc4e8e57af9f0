"""A choice: what runs under a program, and the label by which everything else knows it.

    none            the program as it is, without the library
    ba              a reader-writer lock; mutexes are glibc's, untouched
    mutex:mcs       a mutex; reader-writer locks are glibc's, passed through
    ba+mutex:mcs    both; ba+mutex:pthread is ba alone, measured beside mutexes
    range:list-rw   a range lock, in programs that call those; the others are glibc's
    policy:libcrypto    what the policy file of that name swaps, all of them rwlocks
    mutex:policy:NAME, policy:NAME+mutex:policy:NAME    the same of mutexes; of both
    peer:absl       the program built with another library's lock, without lockswap

    ba@LOCKSWAP_SPIN=0    a lock with a variable of the library, as --scan has it
    mutex:pthread@LOCKSWAP_COND=own    condition variables of ours with glibc's mutexes, as --cond has it
    ba@versus       a lock, and none, under the command of --versus
    none@versus

`pthread` and `mutex:pthread` are glibc's own, passed through. Labels are read and made here and nowhere else.
"""

from dataclasses import dataclass, replace

# The program as it is, without the preload library: no lock of the registry.
NONE = "none"
# glibc's own, passed through by the preloaded library: what interposition itself costs.
PTHREAD = "pthread"
# What stands before the name of a mutex, and of a range lock.
MUTEX_MARK = "mutex:"
RANGE_MARK = "range:"
# What stands before the name of a policy, where else a lock's name stands.
POLICY_MARK = "policy:"
PEER_MARK = "peer:"
# The pass-through where mutexes are swapped: glibc's mutexes are passed through too.
MUTEX_PTHREAD = MUTEX_MARK + PTHREAD
# Whatever is not under test.
BASELINES = (NONE, PTHREAD, MUTEX_PTHREAD)

# The variable of condition variables, and its values: ours, also with glibc's mutexes, or glibc's.
COND = "LOCKSWAP_COND"
CONDS = ("own", PTHREAD)

POLICY = "LOCKSWAP_POLICY"

# What stands before a setting, and in its place before the other command.
SETTING_MARK = "@"
VERSUS = "versus"
NONE_VERSUS = NONE + SETTING_MARK + VERSUS

RWLOCK, MUTEX, RANGE = "rwlock", "mutex", "range"  # kinds of locks
CALLED = {RWLOCK: "reader-writer locks", MUTEX: "mutexes", RANGE: "range locks"}


@dataclass(frozen=True)
class Choice:
    rwlock: str
    mutex: str | None = None  # None: not touched
    range_lock: str | None = None  # the same; with PTHREAD alone
    settings: tuple[tuple[str, str], ...] = ()  # variables of the library
    versus: bool = False  # under the other command
    peer: str | None = None  # another library's lock, which is compiled in; with NONE alone

    @classmethod
    def of(cls, label: str) -> "Choice":
        """From a label; its names are not looked up."""
        label, *more = label.split(SETTING_MARK)
        settings = tuple(tuple(one.split("=", 1)) for one in more if "=" in one)
        return replace(cls._of_locks(label), settings=settings, versus=VERSUS in more)

    @classmethod
    def _of_locks(cls, label: str) -> "Choice":
        if label.startswith(RANGE_MARK):
            return cls(PTHREAD, None, label.removeprefix(RANGE_MARK))
        if label.startswith(PEER_MARK):
            return cls(NONE, peer=label.removeprefix(PEER_MARK))
        first, _, second = label.partition("+")
        if first.startswith(MUTEX_MARK):
            return cls(PTHREAD, first.removeprefix(MUTEX_MARK))
        return cls(first, second.removeprefix(MUTEX_MARK) if second else None)

    @property
    def label(self) -> str:
        more = [f"{name}={value}" for name, value in self.settings] + [VERSUS] * self.versus
        return SETTING_MARK.join([self._locks, *more])

    @property
    def _locks(self) -> str:
        if self.range_lock is not None:
            return RANGE_MARK + self.range_lock
        if self.peer is not None:
            return PEER_MARK + self.peer
        if self.mutex is None:
            return self.rwlock
        mutex = MUTEX_MARK + self.mutex
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
    def tested(self) -> frozenset[str]:
        """Kinds of locks that are under test: of a pair, not the side that is passed through to glibc."""
        if len(self.kinds) == 2 and PTHREAD in (self.rwlock, self.mutex):
            return frozenset({RWLOCK if self.mutex == PTHREAD else MUTEX})
        return self.kinds

    @property
    def policy(self) -> str | None:
        """The name of the policy that chooses."""
        marked = [one for one in (self.rwlock, self.mutex) if one and one.startswith(POLICY_MARK)]
        return marked[0].removeprefix(POLICY_MARK) if marked else None

    @property
    def variables(self) -> dict[str, str]:
        """For the library; empty for `none`. A policy stands there by its name."""
        if self.rwlock == NONE:
            return {}
        if self.policy is not None:
            return {POLICY: self.policy} | dict(self.settings)
        found = {"LOCKSWAP_RWLOCK": self.rwlock, "LOCKSWAP_MUTEX": self.mutex, "LOCKSWAP_RANGE": self.range_lock}
        return {name: value for name, value in found.items() if value} | dict(self.settings)


def peer_label(name: str) -> str:
    return Choice(NONE, peer=name).label


def kinds_of(labels: list[str]) -> frozenset[str]:
    """Kinds of locks that are under test in any of them."""
    return frozenset().union(*(Choice.of(label).kinds for label in labels))


def baseline(labels: list[str]) -> str:
    """glibc's own, passed through as far as any of these replaces it."""
    return MUTEX_PTHREAD if MUTEX in kinds_of(labels) else PTHREAD


def with_baselines(labels: list[str], against: str | None = None) -> list[str]:
    """Both baselines first, whatever was asked for, then what the others are held against."""
    wanted = [against, *labels] if against else labels
    first = [NONE, baseline(wanted)]
    return [*first, *(label for label in dict.fromkeys(wanted) if label not in (*first, PTHREAD))]
