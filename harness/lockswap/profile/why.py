"""`lockswap why PID`: why a program hangs: which thread holds what, and which one waits for it."""

import json
import sys

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.profile import current, live, unrecorded, unseen
from lockswap.profile.asleep import Watch
from lockswap.profile.attach import Attached, WithoutLockswapError, recorded_children
from lockswap.profile.live import State
from lockswap.profile.why_text import as_data, as_text

_CHILDREN = 12


def run(paths: Paths, pid: int, as_json: bool, with_current: bool) -> int:
    attached, state = look(paths, pid)
    if with_current:
        outer = {tid: task.tid for tid, task in attached.tasks().items()}
        stacks = current.stacks(attached.pid)
        for thread in state.threads.values():
            thread.stack = stacks.get(outer.get(thread.tid, 0), [])
    text = json.dumps(as_data(state), indent=1) + "\n" if as_json else as_text(state)
    print(text, end="", file=sys.stdout)
    return 0


def look(paths: Paths, pid: int) -> tuple[Attached, State]:
    """Looks at a running process, recorded or not, or at its child if it only waits for that, as timeout and sh do."""
    attached, state = _look_at(paths, pid)
    if any(one.wait is not None or one.holds for one in state.threads.values()):
        return attached, state
    children = recorded_children(pid)
    if len(children) == 1:
        try:
            inner = look(paths, children[0])
        except UserError:
            return attached, state  # it has just ended
        inner[1].note = "\n".join(
            [
                *filter(None, [inner[1].note]),
                f"No thread of process {pid} ({state.program}) waits for a lock: it started this one.",
            ]
        )
        return inner
    if children:
        which = ", ".join(map(str, children[:_CHILDREN])) + (", ..." if len(children) > _CHILDREN else "")
        state.note = f"It started processes that are recorded, too: `lockswap why PID` says more of {which}."
    return attached, state


def _look_at(paths: Paths, pid: int) -> tuple[Attached, State]:
    try:
        attached = Attached(pid)
        with Watch(attached) as watch:
            state = live.read(paths.profile_reader, attached)
            unseen.complete(attached, state, watch)
    except WithoutLockswapError:
        attached = Attached(pid, needs_recording=False)
        with Watch(attached) as watch:
            state = unrecorded.read(attached)
            unseen.complete(attached, state, watch)
    return attached, state
