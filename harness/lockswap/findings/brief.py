"""The verdict as one would say it to a colleague: a sentence for each kind of locks. verdict.py has the long one."""

import math
from collections.abc import Iterable

from lockswap.base.text import times, words
from lockswap.findings import whole
from lockswap.findings.effects import called, is_time
from lockswap.findings.measured import Place
from lockswap.findings.picture import FAILED, WORSE, Picture, Square, least
from lockswap.findings.whole import KEEP, NOTHING, TAKE, TRADE, WorkloadVerdict

# More names of workloads than these are counted.
_MOST_NAMED = 3


def sentence(picture: Picture, verdicts: dict[str, WorkloadVerdict], several: bool = False) -> str:
    """`verdicts` are those of the workloads, by name; `several`: there are other kinds, so this one is named."""
    found = [verdicts[row.workload.name] for row in picture.rows]
    kind = f" for {picture.about}" if several and picture.about else ""
    return _of_one(picture, found[0], kind) if len(found) == 1 else _of_many(picture, found, kind)


def _of_one(picture: Picture, one: WorkloadVerdict, kind: str) -> str:
    squares = {lock: squares[one.workload] for lock in picture.locks for squares in [picture.squares(lock)]}
    if one.kind == KEEP:
        return _kept_in_one(picture, squares, kind)
    if one.lock is None:
        return _nothing_shown(picture, one, kind)
    lock, square = picture.short(one.lock), squares[one.lock]
    doubt = f" Uncertain: {_doubt(one)}." if one.cautions else ""
    if one.kind == TRADE:
        if one.elsewhere:
            rest = f"; else {one.elsewhere}" + (f"; the price: {one.price}" if one.price else "")
        else:
            rest = f", but {one.price}"
        return f"Use {lock}{kind} {one.condition}: {one.gain}{rest}. Otherwise keep {picture.ours}.{doubt}"
    decided = {(place.metric.name, place.threads) for place in square.gains}
    everywhere = len(decided) == len({(metric.name, threads) for metric, threads in _deciding(picture, one)})
    gain = (_multiple(square.gains, picture.ours) if everywhere else "") or one.gain
    if one.price:
        rest = f"; the price: {one.price}"
    else:
        rest = f"; {one.no_price}" if square.looks_worse else ", no loss shown"
    return f"Use {lock}{kind}: {gain}{rest}.{doubt}"


def _deciding(picture: Picture, one: WorkloadVerdict) -> list[tuple]:
    (workload,) = [row.workload for row in picture.rows if row.workload.name == one.workload]
    return [(workload.leading(metric)[0], threads) for metric in workload.awaited for threads in workload.threads]


def _doubt(one: WorkloadVerdict) -> str:
    """What makes it uncertain, without what to do about it."""
    return one.cautions[0].partition(": ")[0]


def _kept_in_one(picture: Picture, squares: dict[str, Square], kind: str) -> str:
    worse = [square for square in squares.values() if square.kind == WORSE]
    keep = f"Keep {picture.ours}{kind}"
    if len(squares) == 1:
        lock = picture.short(picture.locks[0])
        return f"{keep}: {lock} is {worse[0].amount} worse." if worse else f"{keep}: {lock} gains nothing."
    also = ""
    if worse:
        who = "each" if len(worse) == len(squares) else len(worse)
        also = f", and {who} of them {'lose' if 1 < len(worse) < len(squares) else 'loses'}"
    return f"{keep}: none of the {len(squares)} other locks gains{also}."


def _cure(picture: Picture) -> str:
    fixed = all(row.workload.info["fixed_work"] for row in picture.rows)
    longer = "more work in each run" if fixed else "longer runs (--seconds)"
    return f"{longer}, more rounds (--until 5%) or a quieter machine may show it"


def _nothing_shown(picture: Picture, one: WorkloadVerdict, kind: str) -> str:
    if one.brief:
        return one.brief.replace("Can't tell:", f"Can't tell{kind}:", 1)
    return f"Can't tell{kind}: no gain is shown, and none ruled out; {_cure(picture)}."


def _multiple(places: tuple[Place, ...], ours: str) -> str:
    """'1.26 to 1.43 times glibc's rate'; empty if they are no rates or times, or the baseline got nothing."""
    estimates = sorted(place.ratio.estimate for place in places)
    if math.isinf(estimates[-1]):
        return ""
    ends = dict.fromkeys(times(end).removesuffix("×") for end in (estimates[0], estimates[-1]))
    amount = f"{' to '.join(ends)} times"
    if all(is_time(place.metric) for place in places):
        return f"{amount} as fast as {ours}"
    if all(place.metric.higher_is_better and place.metric.unit.endswith("/s") for place in places):
        return f"{amount} glibc's rate" if ours == "glibc's" else f"{amount} the rate of {ours}"
    return ""


def _of_many(picture: Picture, found: list[WorkloadVerdict], kind: str) -> str:
    keep = f"keep {picture.ours}"
    kinds = [one.kind for one in found]
    if all(one.kind == NOTHING or one.few for one in found):
        text = whole.sentence(found, {}, picture.ours)
        return text.replace("Can't tell:", f"Can't tell{kind}:", 1)
    taken = [one for one in found if one.kind in (TAKE, TRADE)]
    if not taken and KEEP in kinds:
        return f"{keep.capitalize()}{kind}: no other lock is shown to be better in any of the {len(found)} workloads."
    if not taken:
        return f"Can't tell{kind}: in none of {len(found)} workloads is a gain shown, nor ruled out; {_cure(picture)}."
    if best := never_losing(picture):
        return _one_lock(picture, best, found, kind)
    by_lock: dict[str, list[str]] = {}
    for one in taken:
        paid = _paid([picture.squares(one.lock)[one.workload]])
        by_lock.setdefault(one.lock, []).append(f"{one.workload}{f' (at a price: {paid})' * bool(paid)}")
    choices = [f"{picture.short(lock)} if your program is like {_named(names)}" for lock, names in by_lock.items()]
    choices[1:] = [choice.replace("your program is", "it is") for choice in choices[1:]]
    failed = {
        lock: [name for name, square in picture.squares(lock).items() if square.kind == FAILED] for lock in by_lock
    }
    but = "".join(
        f" Runs of {picture.short(lock)} failed in {_named(names)}." for lock, names in failed.items() if names
    )
    return f"No lock is best everywhere{kind}: use {', '.join(choices)}; else {keep}.{but}"


def never_losing(picture: Picture) -> str | None:
    """The best of the locks that are better somewhere and worse nowhere in the figures that decide; it stands first."""
    if not picture.locks:
        return None
    squares = picture.squares(picture.locks[0]).values()
    sound = not any(square.loses or square.looks_worse or square.kind == FAILED for square in squares)
    return picture.locks[0] if sound and any(square.gains for square in squares) else None


def _one_lock(picture: Picture, lock: str, found: list[WorkloadVerdict], kind: str) -> str:
    squares = picture.squares(lock)
    wins = [name for name, square in squares.items() if square.gains]
    gains = [place for square in squares.values() for place in square.gains]
    most = max(place.ratio.estimate for place in gains)
    ends = dict.fromkeys([least(gains), "from 0" if math.isinf(most) else times(most)])
    dear = [name for name, square in squares.items() if square.price]
    unsure = [one.workload for one in found if one.lock == lock and one.doubts]
    price = f", at a price in {_which(dear, wins)} ({_paid(squares.values())})" if dear else ", no loss shown"
    doubt = f"; uncertain in {_which(unsure, wins)}" if unsure else ""
    return (
        f"Use {picture.short(lock)}{kind}: better in {len(wins)} of {len(found)} workloads ({' to '.join(ends)})"
        f"{price}{doubt}."
    )


def _paid(squares: Iterable[Square]) -> str:
    """The figures that are worse."""
    names = list(dict.fromkeys(called(place.metric, brief=True) for square in squares for place in square.price))
    return words(names if len(names) <= _MOST_NAMED else [*names[: _MOST_NAMED - 1], "others"])


def _which(names: list[str], of: list[str]) -> str:
    if len(names) == 1:
        return names[0]
    every = "both" if len(of) == 2 else "all of them"
    return every if set(names) == set(of) else f"{len(names)} of them"


def _named(names: list[str]) -> str:
    named = (
        names if len(names) <= _MOST_NAMED else [*names[: _MOST_NAMED - 1], f"{len(names) - _MOST_NAMED + 1} others"]
    )
    return " or ".join([", ".join(named[:-1]), named[-1]]) if len(named) > 1 else named[0]
