"""Sanitizers' runtimes, which must be preloaded before anything else, where programs need them."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from lockswap.run import executable, reached
from lockswap.run.reached import Reached

_OPTIONS = "ASAN_OPTIONS"
_ANY_PLACE = "verify_asan_link_order=0"


def runtimes(command: list[str]) -> list[str]:
    """The files to preload first: those of the program that the command is, or becomes, as by `env`.

    Not those of a program that a shell starts: the shell itself would crash with ThreadSanitizer's runtime, and other
    programs fail for leaks with AddressSanitizer's.
    """
    return list(dict.fromkeys(file for one in reached.programs(command) if one.directly for file in _of(one.path)))


def variables(env: Mapping[str, str]) -> dict[str, str]:
    """For a program that a shell or another program starts: AddressSanitizer's runtime may come behind lockswap.

    The user's own options stay, and go before.
    """
    before = env.get(_OPTIONS, "")
    if "verify_asan_link_order" in before:
        return {}
    return {_OPTIONS: f"{before}:{_ANY_PLACE}" if before else _ANY_PLACE}


def warnings(command: list[str]) -> list[str]:
    """Where locks are swapped: programs of the command under which lockswap cannot come behind the runtime."""
    behind = [one for one in reached.programs(command) if not one.directly and _is_for_threads(one)]
    return [
        f"'{one.path.name}' is built with ThreadSanitizer, whose runtime cannot be preloaded into the program that "
        f"starts it: the swapped locks look like data races; start '{one.path.name}' itself"
        for one in behind
    ]


def _is_for_threads(one: Reached) -> bool:
    return any(Path(file).name.startswith("libtsan") for file in _of(one.path))


@lru_cache
def _of(path: Path) -> list[str]:
    if not reached.mentions(path, executable.RUNTIMES):
        return []
    return [file for name, file in reached.needs(path).found.items() if executable.is_runtime(name)]
