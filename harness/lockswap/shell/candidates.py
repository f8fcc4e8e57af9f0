"""What can stand for a word of the command line: names, each with what it is.

Each function is called at the press of a key, so it imports what it needs itself.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from lockswap.base.choice import CONDS, MUTEX_MARK, NONE, RANGE_MARK

Names = Iterator[tuple[str, str]]


def _registry():
    from lockswap.base.paths import Paths
    from lockswap.base.registry import Registry

    return Registry.load(Paths.find())


def no_lock() -> Names:
    yield NONE, "the program as it is"


def rwlocks() -> Names:
    yield from ((lock.name, lock.summary) for lock in _registry().rwlocks)


def mutexes() -> Names:
    yield from ((lock.name, lock.summary) for lock in _registry().mutexes)


def range_locks() -> Names:
    yield from ((lock.name, lock.summary) for lock in _registry().range_locks)


def choices() -> Names:
    """Baselines, as `compare --against` takes them."""
    registry = _registry()
    yield from no_lock()
    yield from ((lock.name, lock.summary) for lock in registry.rwlocks)
    yield from ((MUTEX_MARK + lock.name, lock.summary) for lock in registry.mutexes)
    yield from ((RANGE_MARK + lock.name, lock.summary) for lock in registry.range_locks)


def conds() -> Names:
    yield from ((name, "") for name in CONDS)


def waits() -> Names:
    yield from _registry().waits.items()


def machines() -> Names:
    """Those that `predict` knows."""
    from lockswap.base.paths import Paths
    from lockswap.predict import machines, places

    yield from ((name, "") for name in machines.names(places.machines(Paths.find())))


def variables() -> Names:
    yield from ((row["name"], row["help"]) for row in _registry().config)


def settings() -> Names:
    """Variables with the sign that values follow."""
    yield from ((f"{name}=", text) for name, text in variables())


def workloads() -> Names:
    from lockswap.base.paths import Paths
    from lockswap.recipes import reader

    paths = Paths.find()
    found = reader.load_all(paths.recipes, paths.structure_recipes).values()
    yield from ((recipe.family, f"all {recipe.family}-*") for recipe in found if recipe.family)
    yield from ((recipe.name, recipe.title) for recipe in found)


def peers() -> Names:
    from lockswap.base.paths import Paths
    from lockswap.recipes import reader

    found = reader.load_all(Paths.find().recipes).values()
    yield from ((name, "") for name in dict.fromkeys(name for recipe in found for name in recipe.peers))


def all_workloads() -> Names:
    yield "all", "all that don't take long"


def policies() -> Names:
    from lockswap.base.paths import Paths

    yield from ((file.stem, "comes with lockswap") for file in sorted(Paths.find().policies.glob("*.policy")))


def lists() -> Names:
    """What `lockswap list` has beside locks."""
    yield from (
        (name, f"list {name}") for name in ("ranges", "workloads", "variables", "waits", "structures", "papers")
    )


def figures() -> Names:
    from lockswap.base.paths import Paths
    from lockswap.figures import reader

    found = reader.load_all(Paths.find()).values()
    yield from ((figure.name, figure.title) for figure in found if not figure.missing)


def signals() -> Names:
    yield from ((one.name.removeprefix("SIG"), "") for one in signal.Signals)


def allocators() -> Names:
    yield from ((name, "an allocator") for name in ("jemalloc", "tcmalloc"))


def campaigns() -> Names:
    """Folders of campaigns where `compare` puts them, as one would type them here."""
    yield from ((name, "") for name, _ in _campaigns())


def interrupted() -> Names:
    """Those that --resume can continue."""
    yield from ((name, "interrupted") for name, text in _campaigns() if "\nfinished = false\n" in text)


def _campaigns() -> Names:
    from lockswap.base.paths import Paths

    paths, here = Paths.find(), Path.cwd()
    for folder in dict.fromkeys((paths.own_results.absolute(), paths.results)):
        for file in sorted(folder.glob("*/campaign.toml"), reverse=True):
            found = file.parent
            name = str(found.relative_to(here) if found.is_relative_to(here) else found)
            yield name, file.read_text(encoding="utf-8", errors="replace")


def processes() -> Names:
    """Processes that may be looked at and have several threads, the newest first."""
    user = os.geteuid()
    for folder in sorted(Path("/proc").glob("[0-9]*"), key=lambda one: -int(one.name)):
        with suppress(OSError):  # it has ended, or is another's
            if user in (0, folder.stat().st_uid) and len(list((folder / "task").iterdir())) > 1:
                yield folder.name, (folder / "comm").read_text().strip()


def units() -> Names:
    """Services of systemd, wherever it looks for them."""
    folders = (Path(place) / "systemd/system" for place in ("/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"))
    yield from ((file.name, "") for folder in folders for file in sorted(folder.glob("*.service")))
