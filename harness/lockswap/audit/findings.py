"""What the records of an audited program mean for a swap."""

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

from lockswap.audit import shared
from lockswap.base.text import plural, words
from lockswap.run import children
from lockswap.run.children import Child

# Must be looked at before a swap, or just known.
LOOK, NOTE = "look", "note"
# What a swap may replace.
RWLOCKS, MUTEXES, CONDVARS = "rwlocks", "mutexes", "condvars"
KINDS = {RWLOCKS: "rwlocks", MUTEXES: "mutexes", CONDVARS: "condition variables"}
_OF_OBJECT = {"rwlock": RWLOCKS, "mutex": MUTEXES, "cond": CONDVARS}


@dataclass(frozen=True)
class Meaning:
    level: str
    title: str
    says: str  # what it means for a swap, and what to do
    kinds: tuple[str, ...] = (RWLOCKS,)  # which swaps it concerns


# For findings where glibc's default lock lets a reader pass waiting writers and a fair lock does not.
_PATIENCE = (
    "glibc's default lock lets such a reader in past the writer. A fair lock lets it wait until its patience ends "
    "(LOCKSWAP_READER_PATIENCE_US, 20 ms if not set): a pause each time, and for ever if that is 0."
)

MEANINGS = {
    "self_deadlock": Meaning(
        LOOK,
        "write by a thread that reads",
        "It waits for itself for ever, with glibc's lock as with any other. Release the read hold first.",
    ),
    "opposite_orders": Meaning(
        LOOK,
        "two locks taken in opposite orders",
        "Two threads that each have their first lock wait for each other for ever, with glibc's lock as with any "
        "other. Take the two in one order everywhere. It is harmless only if the two threads never run at the same "
        "time.",
    ),
    "circle_of_orders": Meaning(
        LOOK,
        "locks taken in orders that form a cycle",
        "Each thread takes a lock and then the next one's, and the last thread's second lock is the first thread's "
        "first. If each has its first lock, all wait for each other for ever, with any lock. "
        "Take them in one order everywhere. It is harmless only if these threads never run at the same time.",
    ),
    "circle_with_reads": Meaning(
        LOOK,
        "locks taken in orders that form a cycle, some of them only read",
        "Like a cycle of orders, but a lock that two of the threads only read keeps them apart only while a further "
        f"thread waits to write it: {_PATIENCE} Take the locks in one order everywhere.",
    ),
    "opposite_mixed_orders": Meaning(
        LOOK,
        "two locks taken in opposite orders, one of them only read",
        "With a third thread that waits to write the one that both read, each of the three waits for the next: "
        f"{_PATIENCE} Take the two in one order everywhere. Nothing needs to change if no thread writes the lock that "
        "both read while these two run.",
    ),
    "opposite_read_orders": Meaning(
        LOOK,
        "two locks read in opposite orders",
        "With two more threads that wait to write one of them each, each of the four waits for the next: "
        f"{_PATIENCE} Take the two in one order everywhere. Nothing needs to change if one of the two locks is not "
        "written while these threads run.",
    ),
    "wait_while_reading": Meaning(
        LOOK,
        "wait for another thread while a writer waits for the waiting thread's read hold",
        "The wait is for a condition variable, a thread's exit or a barrier. If the thread that is to end it reads the "
        f"same lock first, it waits behind the writer: {_PATIENCE} Release the read hold before the wait. Nothing "
        "needs to change if no thread needs that lock to end the wait.",
    ),
    "recursive_read_shut_out": Meaning(
        LOOK,
        "recursive read of a lock that prefers writers",
        "With PREFER_WRITER_NONRECURSIVE and a writer waiting, glibc's lock deadlocks here, and so does `pthread-wp`. "
        "The other locks of lockswap admit it.",
    ),
    "foreign_write_release": Meaning(
        LOOK,
        "write hold released by another thread",
        "glibc takes that for a reader's release and the lock is broken from then on. Let the writer release.",
    ),
    "join_while_holding": Meaning(
        LOOK,
        "join while holding a lock that the joined thread asks for",
        "Each of the two waits for the other for ever, with glibc's lock as with any other. Release the lock "
        "before the join.",
    ),
    "starving_writer": Meaning(
        LOOK,
        "writer that waited for seconds while readers came and went",
        "glibc's default lock lets readers in for as long as another one is there, so its writers may starve. A lock "
        "that prefers readers starves them as well; the others let such a writer in: try `--rwlock auto`.",
    ),
    "ended_holding": Meaning(
        LOOK,
        "thread that ended with a lock held",
        "The thread returned, exited or was cancelled, and nobody has released the lock since. The next thread that "
        "asks for it waits for ever, with glibc's lock as with any other. Release it before the thread ends, or in "
        "a clean-up handler (pthread_cleanup_push).",
    ),
    "held_over_fork": Meaning(
        LOOK,
        "lock call in a forked child for a lock that another thread of the parent held",
        "That thread doesn't exist in the child, so the child waits for ever, with glibc's lock as with any other. "
        "Take the lock in a prepare handler of pthread_atfork, initialise it again in the child, or call exec there.",
    ),
    "destroy_while_held": Meaning(
        LOOK,
        "destroy of a held lock",
        "Harmless only if the holder never touches the lock again. Release before destroying. glibc keeps such a mutex "
        "and returns EBUSY.",
    ),
    "destroy_while_awaited": Meaning(
        LOOK,
        "destroy while a thread waits",
        "Undefined: the waiter wakes up in memory that may be something else. Let it in first.",
    ),
    "init_while_held": Meaning(
        LOOK,
        "initialisation of a held lock",
        "A second init makes a new lock: the holder's release then ends nobody's hold. Initialise once.",
    ),
    "destroy_of_uninitialised": Meaning(
        LOOK,
        "destroy of a lock that was never initialised",
        "Its bytes can't be those of a lock: neither an initialiser nor a call leaves them. Destroying it is "
        "undefined. Initialise the lock, or don't destroy it.",
    ),
    "release_of_unheld": Meaning(
        LOOK,
        "release of a lock that nobody holds",
        "Undefined with glibc, which counts its readers wrong from then on; lockswap returns EPERM. Find the unlock "
        "without a lock.",
    ),
    "used_before_seen": Meaning(
        LOOK,
        "lock used before the audit saw it",
        "Its bytes show earlier use: it was copied from another lock (memcpy, realloc), used again after its destroy, "
        "or some of its calls bypass the preload. In the last case only a part of its calls would be swapped.",
    ),
    shared.BETWEEN: Meaning(
        LOOK,
        "lock in shared memory, not process-shared, that several processes use",
        "With glibc's lock a release wakes no thread of another process, so such a thread may wait for ever. Swapped "
        "locks may also let two processes in at once, or crash them. Initialise it with PTHREAD_PROCESS_SHARED (by "
        "pthread_mutexattr_setpshared and its relatives): then it works, and stays glibc's under lockswap. If you "
        "can't change the program, leave it to glibc with a policy: then it is as wrong as before, but no worse.",
    ),
    shared.LEFT: Meaning(
        LOOK,
        "lock in shared memory that an earlier process left in use",
        "Its holder has ended, or its last user ran with other locks than this run: the next thread that asks for it "
        "may wait for ever, with any lock. Initialise it when the memory is mapped, and run all processes that use it "
        "with the same locks.",
    ),
    "in_signal_handler": Meaning(
        LOOK,
        "lock taken in a signal handler",
        "The handler ran while its thread was inside a lock function: it may wait for the thread that it interrupted. "
        "POSIX does not allow it; with glibc's default lock it rarely hangs, with fair locks more often.",
        (RWLOCKS, MUTEXES, CONDVARS),
    ),
    "cond_wait_unheld": Meaning(
        LOOK,
        "wait for a condition variable with a mutex that the thread does not hold",
        "Undefined: the wait releases another thread's mutex, or none, and a signal can be lost. Lock the mutex first.",
        (CONDVARS,),
    ),
    "bound_elsewhere": Meaning(
        LOOK,
        "library whose calls bypass the preload",
        "Loaded with RTLD_DEEPBIND or dlmopen, it calls glibc's functions directly: a lock that it shares with the "
        "rest would be broken by a swap, and locks of its own stay glibc's. Load it without that flag, or make sure "
        "that it shares no lock.",
    ),
    "unknown_layout": Meaning(
        LOOK,
        "objects of a layout that lockswap doesn't know",
        "Nothing is recorded of them, so nothing can be said of a swap; lockswap would leave them to glibc. This glibc "
        "has a layout that lockswap doesn't know: try a newer lockswap.",
        (RWLOCKS, MUTEXES, CONDVARS),
    ),
    "stopped_in_lock_call": Meaning(
        LOOK,
        "thread stopped by a signal inside a lock function",
        "Its handler waited in sigsuspend, as those of garbage collectors do. A release may hand the lock off to such "
        "a thread, and all others then wait until it goes on. If the thread that lets it go on needs the lock, the "
        "program hangs. `pthread` and `bravo-pthread` are never handed off, and `auto` takes the lock back: use one "
        "of these.",
        (RWLOCKS, MUTEXES),
    ),
    "stopped_by_signal": Meaning(
        LOOK,
        "thread stopped by another thread's signal",
        "Its handler waited in sigsuspend, as those of garbage collectors do. It was outside the lock functions "
        "then, but another time it may be stopped while it waits for a lock, which a release then hands off to it. "
        "If the thread that lets it go on needs the lock, the program hangs. `pthread` and `bravo-pthread` are "
        "never handed off, and `auto` takes the lock back: use one of these.",
        (RWLOCKS, MUTEXES),
    ),
    "left_lock_call": Meaning(
        LOOK,
        "thread that left a lock function without coming back",
        "It was cancelled asynchronously there, or a signal handler jumped out of it (siglongjmp). If it waited, locks "
        "with a queue keep its place, and all others wait for ever. POSIX allows neither; glibc's locks, `auto` and "
        "`eventual` go on: use one of these, or cancel the thread elsewhere.",
        (RWLOCKS, MUTEXES),
    ),
    "join_may_wait": Meaning(
        NOTE,
        "joins while holding a lock that the joined thread has taken before",
        "If it takes the lock once more before it ends, both threads wait for ever, with any lock. If it may do "
        "so, release the lock before the join.",
    ),
    shared.ALONE: Meaning(
        NOTE,
        "locks in shared memory, not process-shared, that one process used",
        "If another process uses such a lock too, initialise it with PTHREAD_PROCESS_SHARED. If its memory outlives "
        "the process, as a file does, initialise it again before a process runs with other locks.",
    ),
    "real_time_thread": Meaning(
        NOTE,
        "threads with real-time policies",
        "`auto`, `pthread` and `bravo-pthread` let the waiter of the highest priority go first, as glibc does. Locks "
        "that serve first come, first served ignore priorities: such a thread waits for all that came before it.",
        (RWLOCKS, MUTEXES),
    ),
    "recursive_read": Meaning(NOTE, "recursive reads", "All locks of lockswap except `pthread-wp` admit them."),
    "recursive_read_writer_waiting": Meaning(
        NOTE,
        "recursive reads while a writer waited",
        "Strict fair locks deadlock here, and so does `pthread-wp`. The other locks of lockswap admit them.",
    ),
    "deadlk": Meaning(NOTE, "EDEADLK returned", "The locks of lockswap return it in the same cases."),
    "foreign_read_release": Meaning(
        NOTE,
        "read holds released by another thread",
        "They work; such a lock is readers-first and without a fast path from then on, so BRAVO gains nothing there.",
    ),
    "memory_reset_while_held": Meaning(
        NOTE,
        "memory of a held lock zeroed or reused",
        "The lock was left behind without a release. lockswap notices, as the audit did.",
    ),
    "fork_while_holding": Meaning(
        NOTE, "fork while the forking thread held a lock", "Its holds stay in the child, as with glibc."
    ),
    "fork_while_others_hold": Meaning(
        NOTE,
        "fork while another thread held a lock",
        "That hold stays for ever in the child, as with glibc. It matters if the child asks for the lock before it "
        "calls exec.",
    ),
    "fork_with_waiters": Meaning(
        NOTE,
        "fork while a thread waited for a lock",
        "The waiter does not exist in the child. The locks of lockswap forget it; glibc's own may wait for it for "
        "ever, unless the child initialises the lock again or calls exec.",
    ),
    "foreign_mutex_release": Meaning(
        NOTE,
        "mutexes released by another thread",
        "POSIX leaves that undefined. For normal mutexes glibc admits it, and so do the mutexes of lockswap; another C "
        "library need not. Let the thread that locked it release it, or use a semaphore.",
        (MUTEXES,),
    ),
    "cond_two_mutexes": Meaning(
        LOOK,
        "condition variable with two mutexes at the same time",
        "Undefined: all threads that wait for it at the same time must use the same mutex. Neither mutex protects what "
        "they wait for from the other's threads, so a wake-up can come before the wait and be lost. Give each mutex a "
        "condition variable of its own.",
        (CONDVARS,),
    ),
    "cond_changes_mutex": Meaning(
        NOTE,
        "condition variables with one mutex and later with another",
        "POSIX allows that while nobody waits. If a thread waits at that time, it is undefined.",
        (CONDVARS,),
    ),
    "cond_shared_mutex_private": Meaning(
        NOTE,
        "waits for a process-shared condition variable with a private mutex",
        "The condition variable stays glibc's and the mutex does not: with --mutex such a wait rechecks every "
        "millisecond.",
        (CONDVARS,),
    ),
}


@dataclass
class Found:
    """A finding of all processes together."""

    name: str
    meaning: Meaning
    times: int = 0
    examples: list[dict] = field(default_factory=list)  # as in the records, with "program", "pid" and "process"
    of: set[str] = field(default_factory=set)  # which kinds of locks it is about, if that differs

    @property
    def kinds(self) -> tuple[str, ...]:
        """Which swaps it concerns."""
        return tuple(self.of) or self.meaning.kinds


@dataclass
class Audit:
    """The program's run and what was found in it."""

    command: list[str]
    status: int
    processes: list[dict]
    hindrances: list[str]
    shell: str | None = None  # what the program is, if it is a shell or a script for one
    itself: str = ""  # in a clause, how its own process ended, if not well
    never_started: bool = False
    signalled: list[Child] = field(default_factory=list)

    @cached_property
    def ended(self) -> str:
        """In a clause, how the run ended, if not well: of a shell that passes over a crash, that is the crash."""
        return "; ".join(filter(None, (self.itself, children.in_words(children.crashes(self.signalled)))))

    @cached_property
    def counts(self) -> Counter:
        total: Counter = Counter()
        for process in self.processes:
            total.update(process["counts"])
        return total

    @property
    def programs(self) -> str:
        """The processes by their names."""
        programs = Counter(process["program"] for process in self.processes)
        return words(f"{name} ({count})" if count > 1 else name for name, count in sorted(programs.items()))

    def most(self, figure: str) -> int:
        return max((process[figure] for process in self.processes), default=0)

    def longest(self, what: str) -> tuple[int, dict] | None:
        """The longest time of that kind: the number of its process, and what its record says. None: none has ended."""
        all_of_it = [(n, process["longest"][what]) for n, process in enumerate(self.processes)]
        return max((one for one in all_of_it if one[1]["ns"]), key=lambda one: one[1]["ns"], default=None)

    @cached_property
    def inside(self) -> list[tuple[int, int, dict]]:
        """Threads that were in a call for a lock when the run ended, if it did not end well.

        Each with the number of its process, and its own number there.
        """
        last = {process["pid"]: n for n, process in enumerate(self.processes)}  # the others ended by exec
        crashed = {child.pid for child in children.crashes(self.signalled)}
        return [
            (n, i, one)
            for n, process in enumerate(self.processes)
            if (self.itself or process["pid"] in crashed) and not process["ended"] and last[process["pid"]] == n
            for i, one in enumerate(process["inside"])
        ]

    @cached_property
    def rwlock_calls(self) -> int:
        names = "rw_init rw_destroy rdlock tryrdlock timedrdlock clockrdlock wrlock trywrlock timedwrlock clockwrlock"
        return sum(self.counts[name] for name in [*names.split(), "rw_unlock"])

    @cached_property
    def mutex_calls(self) -> int:
        names = "init destroy lock trylock timedlock clocklock unlock"
        return sum(self.counts[f"mutex_{name}"] for name in names.split())

    @cached_property
    def cond_calls(self) -> int:
        return sum(self.counts[f"cond_{name}"] for name in ("init", "destroy", "waits", "signal", "broadcast"))

    @cached_property
    def findings(self) -> list[Found]:
        """Grave ones first, then as in MEANINGS."""
        found: dict[str, Found] = {}
        for number, process in enumerate(self.processes):
            more = {"program": process["program"], "pid": process["pid"], "process": number}
            for one in process["findings"]:
                into = found.setdefault(one["name"], Found(one["name"], MEANINGS[one["name"]]))
                into.times += one["times"]
                into.of |= {kind for kind in (RWLOCKS, MUTEXES) if one[kind]}
                into.examples += [example | more for example in one["examples"]]
        for name, kind, example in shared.found(self.processes):
            into = found.setdefault(name, Found(name, MEANINGS[name]))
            into.times += example["times"]
            into.of.add(_OF_OBJECT[kind])
            into.examples.append(example)
        order = list(MEANINGS)
        return sorted(found.values(), key=lambda f: (f.meaning.level != LOOK, order.index(f.name)))

    @cached_property
    def notes(self) -> list[str]:
        """What counts say, beside the findings."""
        c, notes = self.counts, []
        if self.shell:
            each = self.programs or "nothing could be looked at"
            notes.append(f"{self.shell}. The report is about the programs that it started: {each}.")
        if others := [child for child in self.signalled if not child.is_crash]:
            each = children.counted(others)
            notes.append(f"Child processes ended by signals that programs send to each other: {each}.")
        if kinds := c["rw_prefer_writer_nonrecursive"]:
            notes.append(
                f"{plural(kinds, 'lock')} of the kind PREFER_WRITER_NONRECURSIVE: only glibc's own lock and those over "
                "it (`pthread`, `bravo-pthread`) follow it; 'lockswap list' says what the others do."
            )
        if shared := c["rw_process_shared"]:
            notes.append(f"{plural(shared, 'process-shared lock')}: not swapped, handed to glibc.")
        if timed := c["timedwrlock"] + c["clockwrlock"]:
            notes.append(f"{plural(timed, 'timed write')}: with some locks they can starve (docs/locks.md).")
        if again := c["rw_again"]:
            notes.append(f"EAGAIN was returned {plural(again, 'time')}: too many readers at once.")
        if forgotten := c["orders_forgotten"]:
            notes.append(
                f"The table of the orders in which locks are taken was full, and {plural(forgotten, 'order')} left it: "
                "an opposite order may have been missed."
            )
        if left := c["holds_left_out"]:
            notes.append(
                f"{plural(left, 'time')} a thread that held 12 locks of a kind took another one: orders from there on "
                "were not checked."
            )
        if given_up := c["searches_given_up"] + c["circles_too_long"]:
            notes.append(
                f"{plural(given_up, 'search')} for cycles of orders ended early, at too many orders or at a "
                "cycle of more than 12 locks: one may have been missed."
            )
        left = c["stacks_left_out"] + c["stacks_forgotten"]
        if left and self.findings:
            notes.append(
                f"{plural(left, 'acquisition')} had no stack taken, to save time or room; such a one is named by its "
                "call alone."
            )
        if forgotten := c["conds_forgotten"]:
            notes.append(f"{plural(forgotten, 'condition variable')} found no room: two mutexes may have been missed.")
        if any(process.get("shared_locks_cut") for process in self.processes):
            notes.append("There were more locks in shared memory than the record has room for: some are left out.")
        if lost := c["unrecorded"]:
            notes.append(f"{plural(lost, 'call')} in signal handlers or without memory went unrecorded.")
        return notes

    @cached_property
    def look(self) -> list[str]:
        """What to look at, in a few words each. Empty: safe."""
        unseen = [] if self.processes else ["no process of it could be looked at"]
        found = [f"{f.meaning.title} ({plural(f.times, 'time')})" for f in self.findings if f.meaning.level == LOOK]
        return unseen + (["a program that a preload can't reach"] if self.hindrances else []) + found
