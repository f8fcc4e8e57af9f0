"""What a process recorded between two looks at its file."""

EXCLUSIVE, SHARED = MODES = ("exclusive", "shared")
COUNTS = (  # of a mode
    *("acquisitions", "contended", "wait_ns", "long_waits", "timed_holds", "hold_ns"),
    *("split_holds", "split_ns", "on_processor_ns"),
)
OF_LOCK = ("failed_tries", "timeouts", "timed_out_ns", "signals", "broadcasts", "woken_with_all", "woken_in_vain")
_OF_PAIR = ("waits", "wait_ns", "until_release_ns")
_KEY = ("class", "waiter", "waiter_mode", "holder", "holder_mode")


def difference(before: dict, after: dict) -> dict:
    """`after`, with what was counted before taken away; locks and pairs without anything new are left out.

    A lock that a thread waits for stays."""
    locks = {one["class"]: one for one in before["locks"]}
    waited = {wait["class"] for one in after["threads_now"] for wait in one["waits"]}
    pairs = {_key(one): one for one in before["pairs"]}
    begin_ns = before["now_ns"] - before["started_ns"]
    return after | {
        "locks": [
            new
            for one in after["locks"]
            if _is_used(new := _lock(one, locks.get(one["class"]))) or one["class"] in waited
        ],
        "pairs": [new for one in after["pairs"] if (new := _pair(one, pairs.get(_key(one))))["waits"] > 0],
        "waits_kept": [one for one in after["waits_kept"] if one[1] >= begin_ns],
        "chains": _chains(before["chains"], after["chains"]),
        "dropped": _less(after["dropped"], before["dropped"], after["dropped"]),
        "cost": _less(after["cost"], before["cost"], ("unwound", "unwind_ns", "start_ns")),
    }


def _chains(before: list[dict], after: list[dict]) -> list[dict]:
    old = {(one["pair"], one["cause"]): one["ns"] for one in before}
    new = [one | {"ns": one["ns"] - old.get((one["pair"], one["cause"]), 0)} for one in after]
    return [one for one in new if one["ns"] > 0]


def _key(pair: dict) -> tuple:
    return tuple(pair[name] for name in _KEY)


def _less(after: dict, before: dict, names: object) -> dict:
    return after | {name: max(0, after[name] - before[name]) for name in names}


def _lock(after: dict, before: dict | None) -> dict:
    if before is None:
        return after
    new = _less(after, before, OF_LOCK)
    for mode in MODES:
        if mode in after:
            new[mode] = _mode(after[mode], before[mode])
    new["timeline"] = _timeline(after["timeline"], before["timeline"])
    return new


def _timeline(after: dict, before: dict) -> dict:
    """Slots are twice as wide from time to time: then several of before are one of after."""
    left = list(after["waited_ns"])
    for number, ns in enumerate(before["waited_ns"]):
        slot = number * before["slot_ns"] // after["slot_ns"]
        if slot < len(left):
            left[slot] = max(0, left[slot] - ns)
    return after | {"waited_ns": left}


def _mode(after: dict, before: dict) -> dict:
    new = _less(after, before, COUNTS)
    for name, most in (("waits", "most_wait_ns"), ("holds", "most_hold_ns")):
        old = dict(map(tuple, before[name]))
        new[name] = [[begin, more] for begin, n in after[name] if (more := n - old.get(begin, 0)) > 0]
        # The greatest of all was perhaps before: a bucket is half an octave wide.
        if after[most] == before[most]:
            new[most] = min(after[most], new[name][-1][0] * 3 // 2 if new[name] else 0)
    return new


def _pair(after: dict, before: dict | None) -> dict:
    return after if before is None else _less(after, before, _OF_PAIR)


def _is_used(lock: dict) -> bool:
    modes = [lock[mode] for mode in MODES if mode in lock]
    return bool(lock["signals"] or lock["timeouts"] or any(one["acquisitions"] or one["wait_ns"] for one in modes))
