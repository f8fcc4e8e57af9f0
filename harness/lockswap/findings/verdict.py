"""The verdict of a campaign: one sentence for all of it, and one for each workload.

Which lock to take, what it gains, at what price, and what could overturn that. A gain is claimed where an interval lies
on one side of 1 and its estimate beyond the noise, and only if so many such claims do not come about between equals as
well: among the comparisons of a whole campaign some do.
"""

from collections import Counter

from lockswap.base.choice import BASELINES, CALLED, kinds_of
from lockswap.base.text import plural, times, words
from lockswap.findings import cautions, evidence, whole
from lockswap.findings.claims import span
from lockswap.findings.effects import is_time
from lockswap.findings.evidence import COSTLY, Evidence, decided_differently, is_open
from lockswap.findings.fixed_time import fixed_time
from lockswap.findings.measured import Campaign, Place, Workload
from lockswap.findings.measures import MetricInfo
from lockswap.findings.phrases import glibcs, said, starved, where_of
from lockswap.findings.stats import EQUAL, FASTER, MIN_PAIRS, SLOWER
from lockswap.findings.stats import OPEN as UNDECIDED
from lockswap.findings.two_clocks import meaning
from lockswap.findings.whole import (
    KEEP,
    NOTHING,
    OPEN,
    TAKE,
    TRADE,
    InWorkload,
    OfLock,
    Record,
    Verdict,
    WorkloadVerdict,
)
from lockswap.records.status import NO_LOCK, SKIPPED

__all__ = ["KEEP", "NOTHING", "OPEN", "TAKE", "TRADE", "Verdict", "WorkloadVerdict", "verdict"]

# A gain that is not shown, but cannot be larger than this, is worth a word.
_LITTLE = 1.1


def verdict(campaign: Campaign) -> Verdict:
    groups: dict[tuple, list[Workload]] = {}
    for workload in campaign.workloads:
        groups.setdefault((tuple(workload.locks), workload.against), []).append(workload)
    found: dict[str, WorkloadVerdict] = {}
    sentences, worse_nowhere = [], False
    for (locks, against), workloads in groups.items():
        measured = sum(workload.measured() for workload in workloads)
        mine = [_of_workload(campaign, workload, max(1, measured)) for workload in workloads]
        found |= {one.workload: one for one in mine}
        records = _records(workloads, max(1, measured))
        worse_nowhere |= bool(whole.never_losing(records))
        text = whole.sentence(mine, records, glibcs(workloads[0]))
        if len(groups) > 1:
            kinds = kinds_of([against, *locks])
            text = f"{words(name for kind, name in CALLED.items() if kind in kinds).capitalize()}: {_lower(text)}"
        sentences.append(text)
    if not sentences:
        sentences = ["Can't tell: the campaign has no workload."]
    each = [found[workload.name] for workload in campaign.workloads]
    ours = {glibcs(workload) for workload in campaign.workloads}
    opening = "" if worse_nowhere else whole.opening(each, ours.pop() if len(ours) == 1 else "the baseline")
    return Verdict(sentences, each, _by_lock(campaign), opening, cautions.of_all(campaign))


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _by_lock(campaign: Campaign) -> list[OfLock]:
    """A lock that was never measured has no line."""
    lines: dict[str, list[InWorkload]] = {}
    measured = max(1, sum(workload.measured() for workload in campaign.workloads))
    for workload in campaign.workloads:
        for one in evidence.of(workload, measured):
            better = said(workload, one.wins, brief=True)
            worse = said(workload, [*one.losses, *one.worse], brief=True)
            line = InWorkload(workload.name, better, worse, one.failure, one.useless)
            lines.setdefault(one.lock, []).append(line)
    order = {lock: place for place, lock in enumerate(campaign.locks)}
    return [OfLock(lock, lines[lock]) for lock in sorted(lines, key=lambda lock: order.get(lock, len(order)))]


def _records(workloads: list[Workload], measured: int) -> dict[str, Record]:
    found: dict[str, Record] = {}
    for workload in workloads:
        for one in evidence.of(workload, measured):
            record = found.setdefault(one.lock, Record())
            if one.failure:
                record.failures.append(workload.name)
            elif one.losses:
                record.losses[workload.name] = said(workload, one.losses, brief=True, where=True)
            elif any(place.verdict == SLOWER for place in one.places):
                record.doubts.append(workload.name)
            if one.wins and not one.losses and not one.failure:
                record.wins.append(workload.name)
                record.score += one.score
    return found


def _of_workload(campaign: Campaign, workload: Workload, comparisons: int = 1) -> WorkloadVerdict:
    """`comparisons` is how many workloads are judged at once: the more, the more chance brings about."""
    found = evidence.of(workload, comparisons)
    pairs = max((place.ratio.n for one in found for place in one.places), default=0)
    if pairs == 0:
        return _silent(workload, NOTHING, _nothing(workload))
    if pairs < MIN_PAIRS:
        why = f"only {plural(pairs, 'pair')} of runs where {MIN_PAIRS} are needed (--repeats {MIN_PAIRS + 1})"
        return _silent(workload, OPEN, why, few=True)
    if seconds := fixed_time(workload):
        why = f"every run takes {seconds:.2g} s, whatever the lock; if the program runs for a fixed time, give --metric"
        return _silent(workload, OPEN, why)
    winners = [one for one in found if one.wins and not one.failure]
    if winners:
        # One that loses nowhere goes before one that does.
        return _taken(campaign, workload, max(winners, key=lambda one: (not one.losses, one.score)), found)
    sound = [one for one in found if not one.failure and one.places]
    if sound and not any(map(is_open, sound)):
        return _kept(campaign, workload, found)
    return _open(campaign, workload, found)


def _silent(workload: Workload, kind: str, why: str, few: bool = False) -> WorkloadVerdict:
    sentence = f"Can't tell: {why}."
    return WorkloadVerdict(workload.name, kind, sentence, few=few, brief=sentence)


def _nothing(workload: Workload) -> str:
    """Why there is no figure, and what to do."""
    under_test = [
        cell for (_, lock), cell in workload.cells.items() if lock not in BASELINES and lock != workload.against
    ]
    if not under_test and not workload.cells:
        return "nothing was measured"
    base = [cell for (_, lock), cell in workload.cells.items() if lock == workload.against]
    if base and not any(cell.good for cell in base):
        status, detail = _first_failure(base)
        if status == NO_LOCK:
            return _not_taken(detail)
        return f"nothing was measured: no run with {workload.against} was good ({status}: {detail})"
    if under_test and not any(cell.good for cell in under_test):
        status, detail = _first_failure(under_test)
        if status == NO_LOCK:
            return _not_taken(detail)
        cure = "" if status == SKIPPED else "; failures/ has what was printed"
        return f"no lock was measured ({status}: {detail}){cure}"
    if not under_test:
        return "no lock was measured beside the baselines: name some"
    return "no round has a good run both of a lock and of " + workload.against


def _not_taken(detail: str) -> str:
    return (
        f"no lock was measured, as the program does not take the kind of lock under test ({detail}): "
        "'lockswap audit' shows what it takes"
    )


def _first_failure(cells: list) -> tuple[str, str]:
    found = [(status, detail.rstrip(".")) for cell in cells for status, detail, _ in cell.failures]
    return found[0] if found else ("not measured", "no run was made")


_IF_IT_RUNS = "if it runs"


def _taken(campaign: Campaign, workload: Workload, best: Evidence, found: list[Evidence]) -> WorkloadVerdict:
    gain = said(workload, best.wins) + starved(workload, best.wins)
    condition = _condition(workload, best)
    worth = cautions.of(campaign, workload, best.lock, best.wins)
    by_threads = condition.startswith(_IF_IT_RUNS)
    price = _price(workload, best, losses=not by_threads)
    if by_threads:
        parts = [f"Use {best.lock} {condition}: {gain}.", *([f"The price: {price}."] if price else [])]
        parts.append(f"Else keep {glibcs(workload)}: with {best.lock} {_elsewhere(workload, best)}.")
    elif best.losses:
        parts = [f"Use {best.lock} {condition}: {gain}. The price: {price}. Otherwise keep {glibcs(workload)}."]
    else:
        parts = [f"Use {best.lock}: {gain}."]
        parts.append(f"The price: {price}." if price else _no_price(workload, best))
    # The others say so themselves.
    if price and not by_threads and (which := _undecided(workload, best)):
        parts.append(f"Can't tell for {words(which)}.")
    parts += _two_clocks(workload, best)
    parts += _equally_good(best, found)
    parts += _out(found)
    parts += _overturn(worth)
    kind = TRADE if best.losses else TAKE
    worse = _looks_worse(best)
    # A gain with some thread counts alone says with which, unless the condition does.
    places = Counter(place.metric.name for place in best.wins)
    where = min(places.values()) < len(workload.threads) and not by_threads
    return WorkloadVerdict(
        workload.name,
        kind,
        " ".join(parts),
        lock=best.lock,
        gain=said(workload, best.wins, brief=True, where=where or None) + starved(workload, best.wins, brief=True),
        price=_price(workload, best, brief=True, losses=not by_threads),
        no_price=f"perhaps {said(workload, worse, brief=True)}" if worse else WorkloadVerdict.no_price,
        undecided=words(dict.fromkeys(place.metric.name for place in _open_places(best))),
        condition=condition,
        elsewhere=_elsewhere(workload, best, brief=True) if by_threads else "",
        cautions=worth,
        doubts=list(cautions.doubts(workload, best.lock, best.wins)),
    )


def _elsewhere(workload: Workload, best: Evidence, brief: bool = False) -> str:
    """What a lock that gains with some thread counts has with the others."""
    lost = said(workload, best.losses, brief, where=True)
    decided = {place.threads for place in (*best.wins, *best.losses)}
    rest = {
        threads: {place.verdict for place in best.places if place.threads == threads} for threads in workload.threads
    }
    open_ = [threads for threads, verdicts in rest.items() if threads not in decided and verdicts != {EQUAL}]
    same = [threads for threads, verdicts in rest.items() if threads not in decided and verdicts == {EQUAL}]
    parts = [f"can't tell{workload.where(open_)}"] * bool(open_) + [f"the same{workload.where(same)}"] * bool(same)
    return (", " if brief else "; ").join([lost, *parts])


def _no_price(workload: Workload, best: Evidence) -> str:
    """What was looked at, lest 'no price' be taken for more."""
    if worse := _looks_worse(best):
        return f"A price may be: {said(workload, worse)}; so much comes about by chance, too."
    names = [metric.name for metric in workload.metrics if workload.happens(metric)]
    which = _undecided(workload, best)
    unsure = f"; can't tell for {words(which)}" if which else ""
    waits = any(is_time(metric) and metric.name not in workload.per_cpu_figures for metric in workload.metrics)
    unknown = "" if waits else "; how long single threads waited was not measured"
    return f"No price was seen in {words([*names, 'processor time', 'context switches'])}{unsure}{unknown}."


def _looks_worse(best: Evidence) -> list[Place]:
    """Where it is slower for itself, though not for sure among so many figures."""
    return [place for place in best.places if place.verdict == SLOWER]


def _open_places(best: Evidence) -> list[Place]:
    return [place for place in (*best.places, *best.others) if place.verdict == UNDECIDED]


def _undecided(workload: Workload, best: Evidence) -> list[str]:
    open_: dict[str, list[int]] = {}
    for place in _open_places(best):
        open_.setdefault(place.metric.name, []).append(place.threads)
    return [f"{name}{where_of(workload, threads)}" for name, threads in open_.items()]


def _condition(workload: Workload, best: Evidence) -> str:
    """When a lock that both wins and loses is the one to take."""
    if not best.losses:
        return ""
    won, lost = ({place.metric.name for place in places} for places in (best.wins, best.losses))
    if won - lost and lost - won:
        return f"if {_names(best.wins, won - lost)} count more than {_names(best.losses, lost - won)}"
    threads = {place.threads for place in best.wins} - {place.threads for place in best.losses}
    if threads:
        return f"{_IF_IT_RUNS}{workload.where(sorted(threads)) or ' like this'}"
    return "if what it gains counts more than what it costs"


def _names(places: list[Place], names: set[str]) -> str:
    return words(dict.fromkeys(place.metric.name for place in places if place.metric.name in names))


def _price(workload: Workload, best: Evidence, brief: bool = False, losses: bool = True) -> str:
    """`losses`: with the rates and times that are worse."""
    # A figure that is better at some thread counts and worse at others says at which.
    both = {place.metric.name for place in best.losses} & {place.metric.name for place in best.wins}
    parts = [said(workload, best.losses, brief, where=True if both else None)] if best.losses and losses else []
    parts += [said(workload, best.worse, brief)] if best.worse else []
    dear = [other for place in best.wins if (other := best.other_figure(place)) and other.verdict == SLOWER]
    if dear:
        parts.append(said(workload, dear, brief))
    counts = sorted({place.threads for place in best.wins})
    switches = [(threads, ratio) for threads in counts if (ratio := best.switches(threads))]
    more = [Place(_SWITCHES, threads, ratio) for threads, ratio in switches if ratio.verdict == SLOWER]
    more = [place for place in more if place.ratio.estimate < 1 / COSTLY]
    if more:
        parts.append(said(workload, more, brief))
    return (", " if brief else "; ").join(parts)


_SWITCHES = MetricInfo("context switches", "total", "1/s", "lower")


def _two_clocks(workload: Workload, best: Evidence) -> list[str]:
    """What it means that the clock and the CPU seconds say different things."""
    differing = [(place, other) for place in best.wins if (other := decided_differently(best, place))]
    if not differing:
        return []
    loses = any(other.verdict == SLOWER for _, other in differing)
    other = SLOWER if loses else EQUAL
    if workload.per_cpu:
        says = "It loses by the clock and wins per CPU-second" if loses else "By the clock there is no difference"
        return [f"{says}: {meaning(other, FASTER)}."]
    says = "It wins by the clock and loses per CPU-second" if loses else "Per CPU-second there is no difference"
    return [f"{says}: {meaning(FASTER, other)}."]


def _equally_good(best: Evidence, found: list[Evidence]) -> list[str]:
    rivals = [
        one.lock
        for one in found
        if one is not best and one.wins and not one.failure and len(one.losses) <= len(best.losses)
        if not best.clearly_better_than(one)
    ]
    if not rivals:
        return []
    named = words(rivals if len(rivals) <= 3 else [*rivals[:2], plural(len(rivals) - 2, "other")])
    # A rival may be worse than the baseline somewhere: that is another question.
    worse = {one.lock: [place for place in (*one.places, *one.others) if place.verdict == SLOWER] for one in found}
    but = words(
        f"{lock} has {said(best.workload, worse[lock], brief=True, where=True)}" for lock in rivals if worse[lock]
    )
    though = f"; against {glibcs(best.workload)}, though, {but}" if but else ""
    verb = "is" if len(rivals) == 1 else "are"
    return [f"Compared with {best.lock} itself, {named} {verb} not shown to be worse{though}."]


def _out(found: list[Evidence]) -> list[str]:
    out = [f"{one.lock} ({one.failure})" for one in found if one.failure]
    return [f"Not to be taken, as runs failed: {words(out)}."] if out else []


def _overturn(worth: list[str]) -> list[str]:
    return [f"What could overturn this: {worth[0]}."] if worth else []


def _kept(campaign: Campaign, workload: Workload, found: list[Evidence]) -> WorkloadVerdict:
    sound = [one for one in found if not one.failure]
    losing = [one for one in sound if one.losses]
    worth = cautions.of(campaign, workload)
    keep = f"Keep {glibcs(workload)}"
    if not losing:
        most = max(max(place.ratio.high for place in one.places) for one in sound)
        parts = [f"{keep}: no lock gains more than {times(max(most, 1))} anywhere."]
    else:
        least = max(losing, key=lambda one: one.score)
        lost = said(workload, least.losses)
        if len(sound) == 1:
            parts = [f"{keep}: {least.lock} gains nothing, and loses: {lost}."]
        else:
            parts = [
                f"{keep}: none of the {len(sound)} others gains. "
                f"{least.lock} loses least, all figures together: {lost}."
            ]
    parts += [*_cheaper(workload, sound), *_out(found), *_overturn(worth)]
    return WorkloadVerdict(workload.name, KEEP, " ".join(parts), cautions=worth)


def _cheaper(workload: Workload, found: list[Evidence]) -> list[str]:
    """The leading figure gains nothing, the other one does."""
    for one in sorted(found, key=lambda one: -one.score):
        others = [other for place in one.places if (other := decided_differently(one, place))]
        better = [other for other in others if other.verdict == FASTER]
        if better and not one.is_chance(better) and not any(other.verdict == SLOWER for other in others):
            gained = said(workload, better)
            if workload.per_cpu:
                return [f"By the clock {one.lock} gains all the same ({gained}), at more processor time."]
            return [
                f"Per CPU-second {one.lock} gains all the same ({gained}): it saves processor time that the clock does "
                "not show. Where other work wants the processors, judge by that (--per-cpu)."
            ]
    return []


def _by_chance(workload: Workload, found: list[Evidence], unsure: list[Evidence]) -> str:
    best = max(unsure, key=lambda one: max(place.ratio.estimate for place in one.unsure))
    count = sum(len(one.places) for one in found) * (best.rivals // max(1, len(found)) or 1)
    return (
        f"Can't tell: {best.lock} looks better ({said(workload, best.unsure)}), but of {count} comparisons so "
        "many come out like this by chance. Ask this alone with more rounds "
        f"('-l {best.lock} --until 5%')."
    )


def _too_wide(workload: Workload, sound: list[Evidence]) -> list[str]:
    """What the intervals leave open, and what they rule out."""
    ours = glibcs(workload)
    open_ = [one for one in sound if is_open(one)]
    places = [place for one in open_ for place in one.places]
    low, high = min(place.ratio.low for place in places), max(place.ratio.high for place in places)
    which = words([one.lock for one in open_]) if len(open_) < len(sound) and len(open_) <= 3 else "every lock"
    why = f"for {which} anything from {span(None, low, high)} than {ours} fits"
    noises = [place.ratio.noise for place in places if place.ratio.noise]
    if noises and (any(place.ratio.hidden for place in places) or max(noises) > 1.1):
        why += f", and the program differs from itself by up to {times(max(noises))} (noise)"
    cure = "Longer runs (--seconds), more rounds (--until 5%) or a quieter machine can show it"
    parts = [f"Can't tell: {why}. {cure}."]
    if len(open_) == len(sound) and high <= _LITTLE:
        parts.append(f"More than {times(high)} better is ruled out: if so little is not worth it, keep {ours}.")
    return parts


def _open(campaign: Campaign, workload: Workload, found: list[Evidence]) -> WorkloadVerdict:
    """No gain is shown, and none is ruled out."""
    worth = cautions.of(campaign, workload)
    sound = [one for one in found if not one.failure and one.places]
    brief = ""
    if not sound:
        parts = [brief := "Can't tell: every lock under test had runs that failed."]
    elif unsure := [one for one in sound if one.unsure]:
        parts = [brief := _by_chance(workload, found, unsure)]
    else:
        parts = _too_wide(workload, sound)
    parts += [*_cheaper(workload, sound), *_out(found), *_overturn(worth)]
    return WorkloadVerdict(workload.name, OPEN, " ".join(parts), cautions=worth, brief=brief)
