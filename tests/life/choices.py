"""The ways in which a program can have a library of lockswap's."""

import tempfile
from collections.abc import Iterator

from under import Under


def choices(under: Under) -> Iterator[tuple[str, dict]]:
    """Pairs of a name and the arguments of Under.run."""
    both = {"LOCKSWAP_RWLOCK": "auto", "LOCKSWAP_MUTEX": "auto"}
    audit, fuzz = (under.library.with_name(f"liblockswap-{name}.so") for name in ("audit", "fuzz"))
    with tempfile.TemporaryDirectory() as place:
        yield "only preloaded", {}
        for rwlock in ("auto", under.plain, under.biased):
            yield rwlock, {"LOCKSWAP_RWLOCK": rwlock, "LOCKSWAP_MUTEX": "auto"}
        mutex = under.mutex.removeprefix("mutex:")
        yield mutex, {"LOCKSWAP_MUTEX": mutex, "LOCKSWAP_COND": "own"}
        yield "statistics", {"LOCKSWAP_STATS": f"{place}/stats", **both}
        yield "a profile", {"LOCKSWAP_PROFILE": place, **both}
        yield "an audit", {"preload": audit, "LOCKSWAP_AUDIT": f"{place}/record"}
        yield "fuzz", {"preload": fuzz, "LOCKSWAP_FUZZ": "1,delay=10"}
        yield "fuzz and locks", {"preload": f"{fuzz}:{under.library}", "LOCKSWAP_FUZZ": "1,delay=10", **both}
