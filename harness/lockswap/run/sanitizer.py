"""What sanitizers and valgrind need beside lockswap: runtimes that come first, options, and words of warning."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from lockswap.base.paths import SUPPRESSIONS
from lockswap.run import executable, reached
from lockswap.run.reached import Reached

_OPTIONS = "ASAN_OPTIONS"
_ANY_PLACE = "verify_asan_link_order=0"
_RACE_DETECTORS = ("helgrind", "drd")  # of valgrind


def runtimes(command: list[str]) -> list[str]:
    """The files to preload first: those of the program that the command is, or becomes, as by `env`.

    Not those of a program that a shell starts: the shell itself would crash with ThreadSanitizer's runtime, and other
    programs fail for leaks with AddressSanitizer's.
    """
    return list(dict.fromkeys(file for one in reached.programs(command) if one.directly for file in _of(one.path)))


def variables(env: Mapping[str, str], command: list[str]) -> dict[str, str]:
    """AddressSanitizer's runtime may come behind lockswap, for programs that a shell or another program starts; and
    valgrind shall not report lockswap's own data.

    The user's own options stay, and go before.
    """
    found = {}
    before = env.get(_OPTIONS, "")
    if "verify_asan_link_order" not in before:
        found[_OPTIONS] = f"{before}:{_ANY_PLACE}" if before else _ANY_PLACE
    if _valgrind_s_words(command) and SUPPRESSIONS.is_file() and not any(map(str.isspace, str(SUPPRESSIONS))):
        found["VALGRIND_OPTS"] = f"{env.get('VALGRIND_OPTS', '')} --suppressions={SUPPRESSIONS}".lstrip()
    return found


def warnings(command: list[str]) -> list[str]:
    """Where locks are swapped: programs of the command under which lockswap cannot come behind the runtime."""
    found = [
        f"{tool} does not see lockswap's locks, and takes what they protect for data races: run it on glibc's locks, "
        "as 'lockswap audit' and 'lockswap profile' do"
        for tool in _RACE_DETECTORS
        if any(word in (f"--tool={tool}", tool) for word in _valgrind_s_words(command))
    ]
    behind = [one for one in reached.programs(command) if not one.directly and _is_for_threads(one)]
    return found + [
        f"'{one.path.name}' is built with ThreadSanitizer, whose runtime cannot be preloaded into the program that "
        f"starts it: the swapped locks look like data races; start '{one.path.name}' itself"
        for one in behind
    ]


def _valgrind_s_words(command: list[str]) -> list[str]:
    """None if valgrind is not among the words of the command."""
    said = " ".join(command).split()
    return said if any(Path(word).name == "valgrind" for word in said) else []


def _is_for_threads(one: Reached) -> bool:
    return any(Path(file).name.startswith("libtsan") for file in _of(one.path))


@lru_cache
def _of(path: Path) -> list[str]:
    if not reached.mentions(path, executable.RUNTIMES):
        return []
    return [file for name, file in reached.needs(path).found.items() if executable.is_runtime(name)]
