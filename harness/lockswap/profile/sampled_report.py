"""The samples of a process that was started without lockswap, as text and as data."""

import contextlib
import json
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from lockswap.base.errors import UserError
from lockswap.base.process import has_ended
from lockswap.base.text import plural, share
from lockswap.outside.stacks import Stacks
from lockswap.outside.target import Target
from lockswap.profile.attach import Attached
from lockswap.profile.names import is_wrapper, site
from lockswap.profile.places import Places
from lockswap.profile.report import wrapped
from lockswap.profile.sampled import LOCKS, Sampled, Sampler, Sampling
from lockswap.profile.symbolizer import Function
from lockswap.profile.top import CLEAR
from lockswap.profile.unrecorded import stops_in_words

_FRAMES = 6
_PATHS = 3  # of a lock's holders, and of its waiters
_LEAST = 0.1  # of the stacks, for a path of its own
_OTHERS = 5
_OWNERS = 4

_Path = tuple[Function, ...]  # the outermost function first


@dataclass
class Named:
    """Locks of one name, as of all nodes of a tree."""

    kind: str
    name: str
    objects: int = 0
    samples: int = 0
    waiters: int = 0
    waited: set[int] = field(default_factory=set)
    owners: Counter[str] = field(default_factory=Counter)
    asleep: int = 0
    holds: Counter[_Path] = field(default_factory=Counter)
    waits: Counter[_Path] = field(default_factory=Counter)


def watch(pid: int, seconds: float, top: int, out: Path | None) -> int:
    """`out` is there, and empty."""
    try:
        attached = Attached(pid, needs_recording=False)
        with Target(pid) as target:
            stacks = Stacks(target)
            sampler = Sampler(attached, target, stacks)
            found = sampler.run(seconds)
    except UserError:
        if out is not None:
            with contextlib.suppress(OSError):
                out.rmdir()  # it is empty
        raise
    locks = named(found, Places(sampler.attached, found.stacks(), {one.address for one in found.locks.values()}))
    text = as_text(pid, found, locks, stacks, top)
    print(text, file=sys.stderr, end="")
    if out is not None:
        (out / "profile.txt").write_text(text, encoding="utf-8")
        data = json.dumps(as_data(pid, found, locks, stacks), indent=1) + "\n"
        (out / "samples.json").write_text(data, encoding="utf-8")
        print(f"lockswap profile: profile.txt and samples.json are in {out}", file=sys.stderr)
    return 0


def each_second(pid: int, top: int, interval: float, count: int | None) -> int:
    """`lockswap top` of such a process."""
    attached = Attached(pid, needs_recording=False)
    program, shown = attached.program, 0
    try:
        with Target(pid) as target:
            sampler = Sampler(attached, target, Stacks(target))
            while count is None or shown < count:
                found = _sampled(sampler, pid, interval)
                if found is None:
                    print(f"lockswap top: {program} (process {pid}) has ended")
                    return 0
                places = Places(sampler.attached, found.stacks(), {one.address for one in found.locks.values()})
                text = as_table(pid, found, named(found, places), top)
                print((CLEAR if sys.stdout.isatty() else "") + text, flush=True)
                shown += 1
    except KeyboardInterrupt:
        pass
    return 0


def _sampled(sampler: Sampler, pid: int, seconds: float) -> Sampling | None:
    """None: the process has ended."""
    try:
        found = sampler.run(seconds)
    except UserError:
        if has_ended(pid):
            return None
        raise
    return None if found.has_ended else found


def named(found: Sampling, places: Places) -> list[Named]:
    """The hottest first, and all locks before what else threads wait for."""
    by_name: dict[tuple[str, str], Named] = {}
    for lock in found.locks.values():
        holds, waits = (_paths(stacks, places) for stacks in (lock.holds, lock.waits))
        name = places.variable(lock.address) or _name_by_site(lock, waits)
        one = by_name.setdefault((lock.kind, name), Named(lock.kind, name))
        one.objects += 1
        one.samples = min(found.samples, one.samples + lock.samples)
        one.waiters += lock.waiters
        one.waited |= lock.waited
        one.owners.update({found.names.get(tid, f"thread {tid}"): n for tid, n in lock.owners.items()})
        one.asleep += lock.asleep
        one.holds += holds
        one.waits += waits
    return sorted(by_name.values(), key=lambda one: (one.kind not in LOCKS, -one.waiters))


def _paths(stacks: Counter, places: Places) -> Counter[_Path]:
    found: Counter[_Path] = Counter()
    for frames, n in stacks.items():
        found[tuple(reversed(places.stack(frames)))] += n
    return found


def _name_by_site(lock: Sampled, waits: Counter[_Path]) -> str:
    sites: Counter[str] = Counter()
    for path, n in waits.items():
        if place := site(list(reversed(path))):
            sites[str(place)] += n
    return f"at {sites.most_common(1)[0][0]}" if sites else f"{lock.address:#x}"


def common_paths(stacks: Counter[_Path]) -> list[tuple[float, _Path]]:
    """The ways from the outermost function inwards that most stacks share, each as far as half of its stacks go."""
    left, total = Counter(stacks), stacks.total()
    found: list[tuple[float, _Path]] = []
    while left and len(found) < _PATHS:
        path: _Path = ()
        inside = left
        while True:
            nexts: Counter[Function] = Counter()
            for stack, n in inside.items():
                if len(stack) > len(path):
                    nexts[stack[len(path)]] += n
            best = max(nexts, key=lambda one: nexts[one], default=None)
            if best is None or (path and nexts[best] * 2 < inside.total()):
                break
            path = (*path, best)
            inside = Counter({stack: n for stack, n in inside.items() if stack[: len(path)] == path})
        if not path or inside.total() < _LEAST * total:
            break
        found.append((inside.total() / total, path))
        left -= inside
    return found


def as_text(pid: int, found: Sampling, locks: list[Named], stacks: Stacks, top: int) -> str:
    title = (
        f"lockswap profile: {found.program} (process {pid}), {found.samples} samples in {found.seconds:.1f} s from "
        "outside, since it runs without lockswap"
    )
    lines = [wrapped(title, "", "  ")]
    if found.has_ended:
        lines.append("It ended meanwhile.")
    hot = [one for one in locks if one.kind in LOCKS]
    for number, lock in enumerate(hot[:top], 1):
        lines += ["", *_lock(number, lock, found)]
    if not hot:
        lines += ["", "No thread was seen waiting for a lock."]
    if len(hot) > top:
        lines += ["", f"{plural(len(hot) - top, 'more lock')}: --top shows more."]
    others = [one for one in locks if one.kind not in LOCKS]
    if others:
        lines += ["", "Threads that wait for something else, which may be idle:"]
        for one in others[:_OTHERS]:
            lines.append(wrapped(f"{one.kind} {one.name}: {_average(one, found)}", "  ", "    "))
    lines += [
        "",
        wrapped(
            "Samples show waits, not calls: how often a lock is taken, how long it is held, and who reads an rwlock "
            f"isn't known. `lockswap profile -- CMD` has all that. {' '.join(stops_in_words(stacks))}",
            "",
            "",
        ),
    ]
    return "".join(f"{line}\n" for line in lines)


def _lock(number: int, lock: Named, found: Sampling) -> list[str]:
    what = f"{_kind(lock)} {lock.name} ({plural(lock.objects, 'object')}, {plural(len(lock.waited), 'thread')} waited)"
    said = [f"{_average(lock, found)}, in {share(lock.samples / found.samples)} of the samples"]
    owned = lock.owners.total()
    if owned:
        names = ", ".join(f"{name} ({share(n / owned)})" for name, n in lock.owners.most_common(_OWNERS))
        said.append(f"held by {names}; asleep meanwhile in {share(lock.asleep / owned)}")
    if lock.kind == "rwlock" and owned < lock.samples:
        said.append(f"held for reading in {share(1 - owned / lock.samples)}, by threads that glibc doesn't note")
    lines = [wrapped(what, f"{number:>2}. ", "    "), *(wrapped(one, "    ", "      ") for one in said)]
    for word, stacks in (("holder", lock.holds), ("waiter", lock.waits)):
        for part, path in common_paths(stacks):
            lines.append(f"    - {word} in {share(part)} of {plural(stacks.total(), 'stack')}:")
            for n, one in enumerate(_shown(path)):
                lines.append(wrapped(str(one), f"      {'at' if n == 0 else '  '} ", "           "))
    return lines


def _kind(lock: Named) -> str:
    return "lock inside of glibc (malloc, stdio)" if lock.kind == "internal" else lock.kind


def _shown(path: _Path) -> list[Function]:
    """The innermost functions, without wrappers."""
    kept = [one for one in reversed(path) if not is_wrapper(one)] or list(reversed(path))
    return kept[:_FRAMES]


def _average(lock: Named, found: Sampling) -> str:
    average = lock.waiters / found.samples
    return f"{average:.2f} {'threads wait' if average != 1 else 'thread waits'} on average"


def as_table(pid: int, found: Sampling, locks: list[Named], top: int) -> str:
    lines = [
        f"lockswap top: {found.program} (process {pid}), sampled from outside, since it runs without lockswap",
        f"{'waiting':>8} {'samples':>8}  lock",
    ]
    hot = [one for one in locks if one.kind in LOCKS]
    for lock in hot[:top]:
        lines.append(
            f"{lock.waiters / found.samples:>8.2f} {share(lock.samples / found.samples):>8}  {_kind(lock)} {lock.name}"
        )
        if lock.owners:
            owner, times = lock.owners.most_common(1)[0]
            lines.append(f"{'':>9}held by {owner} in {share(times / lock.owners.total())} of these")
        lines += [f"{'':>9}{word} {place}" for word, place in _places(lock)]
    if not hot:
        lines.append("no thread was seen waiting for a lock")
    if len(hot) > top:
        lines.append(f"{plural(len(hot) - top, 'more lock')}: --top shows more")
    return "\n".join(lines) + "\n"


def _places(lock: Named) -> list[tuple[str, str]]:
    """Where most of its holders are, and most of its waiters."""
    found = []
    for word, stacks in (("holder at", lock.holds), ("waited at", lock.waits)):
        sites: Counter[str] = Counter()
        for path, times in stacks.items():
            stack = list(reversed(path))
            # A holder often sleeps in a function of the C library.
            if place := site([one for one in stack if one.line]) or site(stack):
                sites[str(place)] += times
        found += [(word, sites.most_common(1)[0][0])] if sites else []
    return found


def as_data(pid: int, found: Sampling, locks: list[Named], stacks: Stacks) -> dict:
    def paths(stacks: Counter[_Path]) -> list[dict]:
        return [{"stack": [str(one) for one in reversed(path)], "samples": n} for path, n in stacks.most_common()]

    return {
        "pid": pid,
        "program": found.program,
        "seconds": found.seconds,
        "samples": found.samples,
        "stops": stacks.stops.count,
        "longest_stop_ns": int(stacks.stops.longest_s * 1e9),
        "locks": [
            {
                "kind": one.kind,
                "lock": one.name,
                "objects": one.objects,
                "average_waiters": one.waiters / found.samples,
                "samples": one.samples,
                "owners": dict(one.owners),
                "owner_asleep": one.asleep,
                "holds": [
                    {"share": part, "stack": [str(one) for one in _shown(path)]}
                    for part, path in common_paths(one.holds)
                ],
                "holder_stacks": paths(one.holds),
                "waiter_stacks": paths(one.waits),
            }
            for one in locks
        ],
    }
