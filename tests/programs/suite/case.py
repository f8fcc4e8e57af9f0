"""A case: a program, how it is run and checked, and what is expected of it. They register themselves; see cases/."""

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from suite.stage import Stage

WAITS = ("park", "yield", "spin")


@dataclass(frozen=True)
class Case:
    name: str
    play: Callable[[Stage], None]
    packages: tuple[str, ...]  # of Debian; installed by the set-up. A|B: the first of these that apt knows
    # The same for packages with servers: unpacked only, since an installed server starts with every boot.
    unpacked: tuple[str, ...]
    # At least so many acquisitions of swapped rwlocks must be counted in one run. 0: it takes none, or next to none,
    # and the case shows that the library does no harm.
    acquisitions: int
    to_glibc: int  # at least so many calls on process-shared rwlocks
    quick: bool  # light: part of the quick tests, under three locks each
    waits: tuple[str, ...]  # the wait policies that it is run under
    limit: float  # CPU seconds of all its processes, for each command that is waited for
    mutexes: int = 0  # at least so many acquisitions of mutexes, where those are swapped
    fetched: str = ""  # the script of apps/fetch that builds it

    @property
    def summary(self) -> str:
        return (self.play.__doc__ or "").strip().split("\n")[0].rstrip(".")


_cases: dict[str, Case] = {}


def case(
    name: str,
    *,
    packages: Iterable[str] = (),
    unpacked: Iterable[str] = (),
    acquisitions: int,
    to_glibc: int = 0,
    mutexes: int = 0,
    quick: bool = False,
    waits: Iterable[str] = ("park",),
    limit: float = 300,
    fetched: str = "",
) -> Callable[[Callable[[Stage], None]], Callable[[Stage], None]]:
    """Registers the function below as a case. It is called once a run; stage.py has what its argument can do."""

    def register(play: Callable[[Stage], None]) -> Callable[[Stage], None]:
        if name in _cases:
            raise ValueError(f"two cases are called {name}")
        if not set(waits) <= set(WAITS):
            raise ValueError(f"{name}: there is no such wait policy: {waits}")
        _cases[name] = Case(
            name,
            play,
            tuple(packages),
            tuple(unpacked),
            acquisitions,
            to_glibc,
            quick,
            tuple(waits),
            limit,
            mutexes,
            fetched,
        )
        return play

    return register


def all_cases() -> dict[str, Case]:
    """What the modules in cases/ have registered, by name."""
    import cases

    for module in pkgutil.iter_modules(cases.__path__):
        importlib.import_module(f"cases.{module.name}")
    return dict(sorted(_cases.items()))
