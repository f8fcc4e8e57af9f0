"""How recorded locks are ranked and summed up."""

import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "harness"))

from lockswap.profile.summary import EXCLUSIVE, quantile, summarise  # noqa: E402


def test_a_quantile_is_in_the_bucket_that_reaches_it():
    waits = Counter({1000: 50, 2000: 49, 4000: 1})
    assert quantile(waits, 0.5, 5000) == 1200
    assert quantile(waits, 0.51, 5000) == 2400
    assert quantile(waits, 0.99, 5000) == 2400
    assert quantile(waits, 1, 4100) == 4100  # not more than the greatest


def recorded(*waits: tuple[str, int, int]) -> dict:
    """A process with a mutex for each: its place, and what it was waited for, and in vain."""
    modes = dict.fromkeys(("acquisitions", "contended", "wait_ns", "long_waits", "timed_holds", "hold_ns"), 0)
    modes |= dict.fromkeys(("split_holds", "split_ns", "on_processor_ns", "most_wait_ns", "most_hold_ns"), 0)
    locks = []
    for number, (_, wait_ns, timed_out_ns) in enumerate(waits):
        counts = dict.fromkeys(("objects", "threads", "failed_tries", "timeouts", "signals"), 1)
        counts |= dict.fromkeys(("broadcasts", "woken_with_all", "woken_in_vain"), 0)
        locks.append(
            counts
            | {"kind": "mutex", "class": number, "stack": number, "object": None, "by_init": False}
            | {"timed_out_ns": timed_out_ns, "timeline": {"slot_ns": 1, "waited_ns": []}}
            | {EXCLUSIVE: modes | {"wait_ns": wait_ns, "waits": [], "holds": []}}
        )
    stacks = [{"id": number, "frames": [[-1, 0x1000 + number]]} for number in range(len(waits))]
    process = {"pid": 1, "program": "p", "started_ns": 0, "last_ns": 1, "locks": locks, "stacks": stacks, "pairs": []}
    return {"processes": [process | {"chains": [], "waits_kept": [], "threads_now": [], "modules": [], "ended": True}]}


def test_waits_in_vain_are_waits():
    ranked = summarise(recorded(("a", 5, 0), ("b", 0, 9), ("c", 1, 1)), None).locks
    assert [(lock.wait_ns, lock.timed_out_ns) for lock in ranked] == [(0, 9), (5, 0), (1, 1)]
