"""What was read of a file, kept as long as the file is the same one: a report asks for the same few several times."""

from collections.abc import Callable
from functools import lru_cache, wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

_Rest = ParamSpec("_Rest")
_Read = TypeVar("_Read")


def read_once(read: Callable[Concatenate[str, _Rest], _Read]) -> Callable[Concatenate[str, _Rest], _Read]:
    """For functions of a path, and of other arguments by position. All callers get the same object."""

    @lru_cache(maxsize=64)
    def kept(path: str, identity: object, *rest: object) -> _Read:
        return read(path, *rest)

    @wraps(read)
    def look(path: str, *rest: object) -> _Read:
        return kept(path, _identity(path), *rest)

    return look


def _identity(path: str) -> tuple[int, ...]:
    try:
        found = Path(path).stat()
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
