"""A profile over time, in the Trace Event Format: Perfetto, Firefox Profiler and speedscope read it.

Each thread has a slice for each of its waits, and each hold that kept threads waiting is an asynchronous slice.
Counters say how long threads waited for a lock in each part of the run; these have all waits, the slices those that
were recorded one by one.
"""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass

from lockswap.profile.summary import LOCKS, KeptWait, Lock, Profile


@dataclass(frozen=True)
class Times:
    """How many ns threads waited for locks in each column of time."""

    begin_ns: int
    column_ns: float
    waited: list[tuple[Lock, list[float]]]


def encoded(profile: Profile, times: Times | None) -> bytes:
    events = [*_names(profile), *_counters(profile, times), *_waits(profile), *_unfinished(profile), *_holds(profile)]
    whole = {"traceEvents": events, "displayTimeUnit": "ns"}
    return gzip.compress(json.dumps(whole, separators=(",", ":")).encode(), compresslevel=6, mtime=0)


def label(lock: Lock) -> str:
    return f"{lock.kind} {lock.name}"


def _names(profile: Profile) -> Iterator[dict]:
    for process in profile.processes:
        pid = process["pid"]
        yield {"ph": "M", "name": "process_name", "pid": pid, "tid": pid, "args": {"name": process["program"]}}
        for thread in process["threads_now"]:
            if thread["tid"] and thread["name"]:
                args = {"name": thread["name"]}
                yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": thread["tid"], "args": args}


def _counters(profile: Profile, times: Times | None) -> Iterator[dict]:
    """In ms for each column, so that their sum is the lock's time."""
    if times is None:
        return
    pid = profile.processes[0]["pid"]
    for lock, columns in times.waited:
        for number, ns in enumerate([*columns, 0]):
            at = _us(times.begin_ns + number * times.column_ns, profile)
            yield {"ph": "C", "name": label(lock), "pid": pid, "ts": at, "args": {"waited_ms": round(ns / 1e6, 6)}}


def _waits(profile: Profile) -> Iterator[dict]:
    """The outer ones first: a wait for a condition may end with one for the mutex."""
    for wait in sorted(profile.kept_waits, key=lambda one: (one.begin_ns, -one.end_ns)):
        begin = _us(wait.begin_ns, profile)
        args = {"waits at": str(wait.pair.waiter.site), "mode": wait.pair.waiter.mode}
        args |= {"ended by": str(wait.pair.holder.site)}
        if wait.holder_tid:
            args["ended by thread"] = wait.holder_tid
        yield {
            **{"ph": "X", "cat": "wait", "name": f"wait for {label(wait.lock)}", "pid": wait.pid, "tid": wait.tid},
            **{"ts": begin, "dur": _us(wait.end_ns, profile) - begin, "args": args},
        }


def _unfinished(profile: Profile) -> Iterator[dict]:
    """Until the process ended, or was looked at; if nobody knows when that was, until it last recorded something."""
    process = {one["pid"]: one for one in profile.processes}
    for wait in profile.unfinished:
        one = process[wait.pid]
        begin_ns = one["started_ns"] + wait.after_start_ns
        end_ns = max(begin_ns, one["last_ns"]) if wait.age_ns is None else begin_ns + wait.age_ns
        begin = _us(begin_ns, profile)
        yield {
            **{
                "ph": "X",
                "cat": "unfinished wait",
                "name": f"wait for {label(wait.lock)}",
                "pid": wait.pid,
                "tid": wait.tid,
            },
            **{"ts": begin, "dur": _us(end_ns, profile) - begin},
            "args": {"waits at": str(wait.site), "mode": wait.mode, "deadlock": bool(wait.circle)},
        }


def _holds(profile: Profile) -> Iterator[dict]:
    """Each holds one or more threads up, and is a track of its own: a thread may release locks in any order."""
    holds: dict[tuple, list[KeptWait]] = {}
    for wait in profile.kept_waits:
        if wait.kept_since_ns and wait.holder_tid and wait.lock.kind in LOCKS:
            hold = (wait.pid, wait.holder_tid, label(wait.lock), wait.kept_since_ns, wait.released_ns)
            holds.setdefault(hold, []).append(wait)
    for number, (hold, waits) in enumerate(sorted(holds.items(), key=lambda one: one[0][3]), 1):
        pid, tid, name, begin, end = hold
        one = {"cat": "hold", "name": f"hold {name}", "pid": pid, "tid": tid, "id": f"{number:#x}"}
        args = {"thread": tid, "holds until": str(waits[0].pair.holder.site), "kept waiting": len(waits)}
        yield {"ph": "b", **one, "ts": _us(begin, profile), "args": args}
        yield {"ph": "e", **one, "ts": _us(end, profile)}


def _us(ns: float, profile: Profile) -> int:
    """Since the first process began. Whole ones: readers cut fractions off, and then slices don't nest any more."""
    return int(ns - min(one["started_ns"] for one in profile.processes)) // 1000
