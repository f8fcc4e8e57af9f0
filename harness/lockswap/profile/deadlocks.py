"""Which threads were in a deadlock when a recording ended, or was looked at: by what it says itself."""

from lockswap.profile.live import Hold, Lock, State, Thread, Wait


def circles(process: dict) -> list[list[int]]:
    """The threads' numbers, in the order in which each waits for the next one."""
    kinds = {one["class"]: one["kind"] for one in process["locks"]}
    threads = {one["tid"]: _thread(one, kinds) for one in process["threads_now"] if one["tid"]}
    state = State(process["pid"], process["program"], threads, {}, 0)
    return [[thread.tid for thread in circle] for circle in state.cycles()]


def _thread(one: dict, kinds: dict[int, str]) -> Thread:
    thread = Thread(one["tid"], "", "S", own=one["self"])
    thread.holds = [Hold(_lock(hold, kinds), hold["mode"], hold["age_ns"], None) for hold in one["holds"]]
    if one["waits"]:
        wait = one["waits"][-1]  # a signal handler's is the innermost
        words = (wait["mutex"], wait["mode"], wait["age_ns"], wait["has_deadline"])
        thread.wait = Wait(_lock(wait, kinds), *words, stack=())
    return thread


def _lock(entry: dict, kinds: dict[int, str]) -> Lock:
    return Lock(kinds.get(entry["class"], "mutex"), entry["address"], "", False)
