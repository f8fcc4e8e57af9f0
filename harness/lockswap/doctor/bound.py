"""Which loaded files call glibc's lock functions past the library: what their references are bound to, in memory.

The library looks for the same at its end (interpose/bypasses.cpp).
"""

import re
from dataclasses import dataclass
from pathlib import Path

from lockswap.doctor.asked import Memory, WhatRuns
from lockswap.doctor.dynamic import Dynamic
from lockswap.doctor.inside import LIBRARY, Inside
from lockswap.outside.target import is_libc

_RWLOCKS = ("rdlock", "wrlock", "tryrdlock", "trywrlock", "unlock")
_MUTEXES = ("lock", "trylock", "unlock")
_CONDS = ("wait", "timedwait", "signal", "broadcast")
_NO_MODULE = re.compile(r"^(\[|/dev/|/memfd:|/SYSV)|\.lockprof")


@dataclass(frozen=True)
class Bypass:
    module: str
    function: str
    to: str  # the file whose function it is


def bypasses(inside: Inside, memory: Memory, runs: WhatRuns) -> list[Bypass]:
    """One a file."""
    names = _names(runs)
    own = {Path(path).name for path in inside.libraries}
    found = []
    for path, begin in inside.begins.items():
        if _NO_MODULE.search(path) or is_libc(path) or Path(path).name in own:
            continue
        found += _of(inside, memory, path, begin, names)
    return found


def _names(runs: WhatRuns) -> frozenset[bytes]:
    names = [f"pthread_rwlock_{one}" for one in _RWLOCKS if runs.swaps_rwlocks]
    names += [f"pthread_mutex_{one}" for one in _MUTEXES if runs.swaps_mutexes]
    names += [f"pthread_cond_{one}" for one in _CONDS if runs.swaps_conds]
    return frozenset(name.encode() for name in names)


def _of(inside: Inside, memory: Memory, path: str, begin: int, names: frozenset[bytes]) -> list[Bypass]:
    try:
        dynamic = Dynamic(inside.file(path))
        for function, address in dynamic.references(names):
            bound = memory.word(address - dynamic.first_address + begin)
            to = inside.module_at(bound) if bound else None
            # Its own: not bound yet, or defined by itself. Without a file: made by a tracer.
            if to is not None and to != path and not Path(to).name.startswith(LIBRARY):
                return [Bypass(path, function, to)]
    except (OSError, ValueError):
        pass
    return []
