"""The verdict of a whole campaign, from those of its workloads. Nothing is added up over workloads."""

from dataclasses import dataclass, field

from lockswap.base.text import words

# What a verdict is: take a lock; take it if one thing counts more than another; keep what there is; can't tell;
# nothing was measured.
TAKE, TRADE, KEEP, OPEN, NOTHING = "take", "trade", "keep", "can't tell", "nothing"


@dataclass(frozen=True)
class WorkloadVerdict:
    workload: str  # its name
    kind: str
    sentence: str  # may be several; complete without the others
    lock: str | None = None  # to take, if any
    gain: str = ""  # in brief
    price: str = ""  # in brief
    no_price: str = "no price seen"  # in brief, what stands where there is none; may say what looks like one
    undecided: str = ""  # the figures of which, somewhere, nothing can be said
    condition: str = ""  # of a trade: 'if reads count more than writes'
    elsewhere: str = ""  # of a trade between thread counts: what the others have, in brief
    cautions: list[str] = field(default_factory=list)  # each could overturn it; the first is in the sentence
    doubts: list[str] = field(default_factory=list)  # those cautions that are of this gain alone
    few: bool = False  # there are too few rounds for any verdict
    brief: str = ""  # in a sentence why nothing can be said, if it is not that the intervals are too wide


@dataclass(frozen=True)
class InWorkload:
    """What a workload has on one lock, in brief."""

    workload: str
    better: str
    worse: str
    failure: str
    useless: bool  # it is shown to gain nothing


@dataclass(frozen=True)
class OfLock:
    lock: str
    lines: list[InWorkload]


@dataclass(frozen=True)
class Verdict:
    sentences: list[str]  # one for each kind of locks; each may be several
    workloads: list[WorkloadVerdict]  # in the order of the campaign's
    locks: list[OfLock] = field(default_factory=list)  # the same the other way round: those under test, in their order

    opening: str = ""  # what is said before, where the verdicts of the workloads differ
    caution: str = ""  # what holds for all of it

    @property
    def sentence(self) -> str:
        """All that is said of the campaign."""
        return " ".join(filter(None, [self.opening, *self.sentences, self.caution]))


@dataclass
class Record:
    """One lock over the workloads."""

    wins: list[str] = field(default_factory=list)  # names of workloads
    losses: dict[str, str] = field(default_factory=dict)  # the same -> what is worse there, in brief
    failures: list[str] = field(default_factory=list)  # its runs fail there
    doubts: list[str] = field(default_factory=list)  # it looks worse there, but chance may have done it
    score: float = 0.0


def sentence(found: list[WorkloadVerdict], records: dict[str, Record], ours: str) -> str:
    """`ours` is what the locks are held against, as people call it."""
    if len(found) == 1:
        return found[0].sentence
    keep = f"keep {ours}"
    by_kind = {kind: [one for one in found if one.kind == kind] for kind in (TAKE, TRADE, KEEP, OPEN, NOTHING)}
    if len(by_kind[NOTHING]) == len(found):
        return f"Can't tell: nothing was measured. {found[0].workload}: {found[0].sentence}"
    rest = _rest(by_kind, keep)
    taken = [*by_kind[TAKE], *by_kind[TRADE]]
    if not taken:
        if not by_kind[KEEP]:
            if all(one.few for one in by_kind[OPEN]):
                return by_kind[OPEN][0].sentence
            return (
                f"Can't tell: in none of the {len(found)} workloads is a lock shown to be better, and in none is that "
                "ruled out. Longer runs (--seconds), more rounds (--until 5%) or a quieter machine can show it."
            )
        return f"{keep.capitalize()}: no lock is shown to be better in any workload{_also(rest[1:])}."
    if best := never_losing(records):
        return _one_lock(best, records[best].wins, found, rest)
    locks = list(dict.fromkeys(one.lock for one in taken))
    if len(locks) > 1:
        return f"It depends on the program: {'; '.join([*map(_choice, taken), *rest])}."
    said = words(_choice(one).removeprefix(f"{locks[0]} for ") for one in taken)
    return f"Use {locks[0]} for {'; '.join([said, *_but(locks[0], records[locks[0]], by_kind, rest, keep)])}."


def never_losing(records: dict[str, Record]) -> str | None:
    """The best of the locks that are better somewhere and worse nowhere."""
    found = [
        lock
        for lock, record in records.items()
        if record.wins and not (record.losses or record.failures or record.doubts)
    ]
    return max(found, key=lambda lock: (len(records[lock].wins), records[lock].score), default=None)


def opening(found: list[WorkloadVerdict], ours: str) -> str:
    """For those who read one sentence; empty where all workloads have one and the same verdict, or none takes a lock.

    Not asked for where one lock is worse in no workload.
    """
    taken = [one for one in found if one.kind in (TAKE, TRADE)]
    if len(found) < 2 or not taken or len({(one.kind, one.lock, one.condition) for one in found}) == 1:
        return ""
    kept, open_ = (sum(one.kind == kind for one in found) for kind in (KEEP, OPEN))
    like = "one of these" if len(taken) == len(found) else "the one" if len(taken) == 1 else f"one of the {len(taken)}"
    of = "" if len(taken) == len(found) else " of"
    unsure = sum(bool(one.cautions) for one in taken)
    doubt = "uncertain" if unsure == len(taken) else f"uncertain in {unsure} of them"
    others = [doubt] * bool(unsure)
    others += [f"none does in {kept}"] * bool(kept) + [f"can't tell for {open_}"] * bool(open_)
    rest = f" ({'; '.join(others)})" if others else ""
    return (
        f"No lock is best everywhere: keep {ours} unless your program is like {like}{of} {len(found)} workloads in "
        f"which another lock gains{rest}."
    )


def _but(lock: str, record: Record, by_kind: dict[str, list[WorkloadVerdict]], rest: list[str], keep: str) -> list[str]:
    """What speaks against the lock that is taken: workloads in which it loses, fails, or is not the choice."""
    named = {one.workload for kind in (TAKE, TRADE) for one in by_kind[kind]}
    lost, failed = ([name for name in names if name not in named] for names in (record.losses, record.failures))
    fails = [f"its runs fail in {words(failed)}"] if failed else []
    if lost and lost == [one.workload for one in by_kind[KEEP]]:
        return [f"{keep} for {words(f'{name} ({lock}: {record.losses[name]})' for name in lost)}", *fails, *rest[1:]]
    worse = words(f"{name} ({record.losses[name]})" for name in lost)
    return [*([f"{lock} is worse in {worse}"] if lost else []), *fails, *rest]


def _one_lock(lock: str, names: list[str], found: list[WorkloadVerdict], rest: list[str]) -> str:
    gains = {one.workload: one for one in found if one.lock == lock}
    said = [f"{name} ({_gain_and_price(gains[name])})" if name in gains else name for name in names]
    parts = [f"Use {lock}: it is better in {words(said)} and worse in none of the {len(found)} workloads."]
    others = [_choice(one) for one in found if one.lock and one.lock != lock]
    if others:
        parts.append(f"Still better: {'; '.join(others)}.")
    if rest:
        parts.append(f"Elsewhere: {'; '.join(rest)}.")
    return " ".join(parts)


def _choice(one: WorkloadVerdict) -> str:
    condition = f" {one.condition}" if one.condition else ""
    return f"{one.lock} for {one.workload}{condition} ({_gain_and_price(one)})"


def _gain_and_price(one: WorkloadVerdict) -> str:
    parts = [f"gain: {one.gain}", f"price: {one.price}" if one.price else one.no_price]
    if one.elsewhere:
        parts[1:] = [*parts[1:] * bool(one.price), f"else: {one.elsewhere}"]
    # Without what to do about it.
    parts += [f"uncertain: {one.cautions[0].partition(': ')[0]}"] if one.cautions else []
    return "; ".join(parts)


def _rest(by_kind: dict[str, list[WorkloadVerdict]], keep: str) -> list[str]:
    """The workloads in which no lock is taken."""
    named = {kind: words([one.workload for one in found]) for kind, found in by_kind.items() if found}
    parts = []
    if KEEP in named:
        parts.append(f"{keep} for {named[KEEP]}")
    if OPEN in named:
        parts.append(f"can't tell for {named[OPEN]}")
    if NOTHING in named:
        parts.append(f"nothing was measured of {named[NOTHING]}")
    return parts


def _also(rest: list[str]) -> str:
    return f"; {'; '.join(rest)}" if rest else ""
