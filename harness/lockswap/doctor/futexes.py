"""Files whose code sleeps in futex calls of its own, past pthread: locks that they make themselves."""

from collections import Counter
from pathlib import Path

from lockswap.base.errors import UserError
from lockswap.doctor.dynamic import Dynamic
from lockswap.doctor.inside import LIBRARY, Inside
from lockswap.outside.target import Target, is_libc

_MOST_THREADS = 1000


def own_waits(inside: Inside) -> Counter[str]:
    """How many threads sleep now in a futex call of that file. By libc's syscall() it is the file "syscall()"."""
    found: Counter[str] = Counter()
    try:
        with Target(inside.pid) as target:
            for task in list(inside.attached.tasks().values())[:_MOST_THREADS]:
                glimpse = target.glimpse(task.tid)
                if glimpse is None or not glimpse.sleeps or target.futex_wait(glimpse.call) is None:
                    continue
                if caller := _caller(inside, glimpse.call.pc):
                    found[caller] += 1
    except UserError:
        pass  # what may be read was said already
    return found


def _caller(inside: Inside, pc: int) -> str | None:
    """None: a function of pthread's, or the library's."""
    path = inside.module_at(pc)
    if path is None or Path(path).name.startswith(LIBRARY):
        return None
    if not is_libc(path):
        return path
    try:
        dynamic = Dynamic(inside.file(path))
    except (OSError, ValueError):
        return None
    found = dynamic.address_of("syscall")
    if found is None:
        return None
    at = pc - inside.begins[path] + dynamic.first_address
    return "syscall()" if found[0] <= at <= found[0] + found[1] else None
