"""A profile as files: profile.json, a page, waiting by holder for flame graphs and for pprof, and a trace."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from lockswap.profile import hints, page, pprof, timeline, trace
from lockswap.profile.names import Function
from lockswap.profile.summary import EXCLUSIVE, SHARED, Lock, Pair, Profile, Side, Unfinished, quantile

SCHEMA = 1
_LOCKS_OF_PAGE = 50
_LOCKS_OF_TRACE = 50


def write(profile: Profile, text: str, folder: Path) -> None:
    """text: the report."""
    (folder / "profile.html").write_text(page.page(profile, text, _times(profile), _shown(profile)), encoding="utf-8")
    (folder / "profile.json").write_text(json.dumps(as_data(profile), indent=1) + "\n", encoding="utf-8")
    (folder / "waiting.pb.gz").write_bytes(pprof.encoded(stacks(profile), profile.run.wall_s))
    (folder / "trace.json.gz").write_bytes(trace.encoded(profile, _times_of_trace(profile)))
    (folder / "waiting.folded").write_text(as_folded(profile), encoding="utf-8")


def as_data(profile: Profile) -> dict:
    run = profile.run
    return {
        "schema": SCHEMA,
        "command": run.command,
        "exit_status": run.status,
        "wall_s": run.wall_s,
        "cpu_s": run.cpu_s,
        "recorded_s": profile.recorded_s,
        "threshold_ns": profile.threshold_ns,
        "cost_ns": round(profile.cost_ns),
        "dropped": dict(profile.dropped),
        "files_that_changed": profile.changed,
        "locks": [_lock(lock) for lock in profile.locks],
        "timeline": _timeline(profile),
        "conds": [_lock(lock) for lock in profile.conds],
        "meetings": [_lock(lock) for lock in profile.meetings],
        "unfinished": [_unfinished(one) for one in profile.unfinished],
        "processes": [
            {
                key: one[key]
                for key in (
                    "pid",
                    "parent",
                    "program",
                    "exe",
                    "ended",
                    "threads",
                    "counter",
                    "slept",
                    "cost",
                    "dropped",
                )
            }
            for one in profile.processes
        ],
    }


def as_folded(profile: Profile) -> str:
    """Collapsed stacks, in us."""
    lines: Counter = Counter()
    for frames, _, ns in stacks(profile):
        lines[";".join(str(frame).replace(";", ",") for frame in frames)] += ns // 1000
    return "".join(f"{stack} {us}\n" for stack, us in lines.most_common() if us)


def stacks(profile: Profile) -> Iterator[tuple[list[Function], int, int]]:
    for lock in profile.locks:
        yield from _stacks_of(lock)


def _stacks_of(lock: Lock) -> Iterator[tuple[list[Function], int, int]]:
    """Waiting by holder: the stack of the holder from the outermost frame on, the lock, and on top of it the stack of
    the waiter, from its innermost frame on; how many waits and ns."""
    for pair in lock.pairs.values():
        holder = [*reversed(pair.holder.stack)] or [Function("(holder not known)")]
        waiter = [*pair.waiter.stack] or [Function("(waiter not known)")]
        yield [*holder, Function(f"[{lock.kind} {lock.name}]"), *waiter], pair.waits, pair.wait_ns


def _shown(profile: Profile) -> list[page.Shown]:
    waited = [lock for lock in profile.locks if lock.contended or lock.timeouts]
    return [page.Shown(lock, hints.hint(lock, profile), [*_stacks_of(lock)]) for lock in waited[:_LOCKS_OF_PAGE]]


def _times(profile: Profile) -> page.Times | None:
    on = timeline.axis(profile)
    if on is None:
        return None
    locks = [lock for lock in profile.locks[: timeline.LOCKS] if lock.timeline]
    return page.Times(
        on.column_ns, [(lock, [ns / on.column_ns for ns in timeline.columns(lock, on)]) for lock in locks]
    )


def _times_of_trace(profile: Profile) -> trace.Times | None:
    on = timeline.axis(profile)
    if on is None:
        return None
    locks = [lock for lock in profile.locks[:_LOCKS_OF_TRACE] if lock.timeline]
    return trace.Times(on.begin_ns, on.column_ns, [(lock, timeline.columns(lock, on)) for lock in locks])


def _timeline(profile: Profile) -> dict | None:
    on = timeline.axis(profile)
    if on is None:
        return None
    hottest = [
        {"kind": lock.kind, "name": lock.name, "waited_ns": [round(ns) for ns in timeline.columns(lock, on)]}
        for lock in profile.locks[: timeline.LOCKS]
        if lock.timeline
    ]
    return {"column_ns": round(on.column_ns), "columns": on.columns, "locks": hottest}


def _lock(lock: Lock) -> dict:
    modes = (EXCLUSIVE, SHARED) if lock.kind == "rwlock" else (EXCLUSIVE,)
    return {
        "kind": lock.kind,
        "name": lock.name,
        "initialised" if lock.by_init else "first_taken": str(lock.place),
        "objects": lock.objects,
        "threads": lock.threads,
        "acquisitions": lock.acquisitions,
        "read_share": lock.modes[SHARED].acquisitions / lock.acquisitions if lock.acquisitions else None,
        "contended": lock.contended,
        "wait_ns": lock.wait_ns,
        "failed_tries": lock.failed_tries,
        "timeouts": lock.timeouts,
        "timed_out_ns": lock.timed_out_ns,
        "signals": lock.signals,
        "broadcasts": lock.broadcasts,
        "woken_with_all": lock.woken_with_all,
        "woken_in_vain": lock.woken_in_vain,
        "modes": {name: _mode(lock, name) for name in modes},
        "pairs": [_pair(pair) for pair in sorted(lock.pairs.values(), key=lambda pair: -pair.wait_ns)],
    }


def _unfinished(wait: Unfinished) -> dict:
    """after_start_ns: when it began, after its process. age_ns: null if nobody knows when the process ended.

    deadlock: the threads of the one that it is in, each of which waits for the next one; none if it is in none.
    """
    return {
        "kind": wait.lock.kind,
        "lock": wait.lock.name,
        "pid": wait.pid,
        "tid": wait.tid,
        "age_ns": wait.age_ns,
        "after_start_ns": wait.after_start_ns,
        "deadlock": list(wait.circle),
        **_side(Side(wait.mode, wait.stack)),
    }


def _mode(lock: Lock, name: str) -> dict:
    mode = lock.modes[name]
    return {
        "acquisitions": mode.acquisitions,
        "contended": mode.contended,
        "wait_ns": mode.wait_ns,
        "long_waits": mode.long_waits,
        "wait_quantiles_ns": _quantiles(mode.waits, mode.most_wait_ns),
        "timed_holds": mode.timed_holds,
        "hold_ns_of_timed": mode.hold_ns,
        "split_holds": mode.split_holds,
        "split_ns": mode.split_ns,
        "on_processor_ns": mode.on_processor_ns,
        "hold_quantiles_ns": _quantiles(mode.holds, mode.most_hold_ns),
        "waits": sorted(mode.waits.items()),
        "holds": sorted(mode.holds.items()),
    }


def _quantiles(histogram: Counter, most: int) -> dict | None:
    if not histogram:
        return None
    return {f"p{n}": round(quantile(histogram, n / 100, most)) for n in (50, 99)} | {"max": most}


def _pair(pair: Pair) -> dict:
    return {
        "waits": pair.waits,
        "wait_ns": pair.wait_ns,
        "until_release_ns": pair.until_release_ns,
        "most_ns": pair.most_ns,
        "waiter": _side(pair.waiter),
        "holder": _side(pair.holder),
        "causes": [
            {"kind": one.lock.kind, "lock": one.lock.name, "holder": str(one.pair.holder.site), "ns": one.ns}
            for one in pair.causes
        ],
    }


def _side(side: Side) -> dict:
    return {"mode": side.mode, "site": str(side.site), "stack": [str(one) for one in side.stack]}
