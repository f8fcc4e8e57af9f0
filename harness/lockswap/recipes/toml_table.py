"""Reading TOML that people write: each complaint names the key, and nothing is passed over in silence."""

import re
import tomllib
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from lockswap.base.errors import UserError


def read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: {error}") from error


class Table:
    """A TOML table that remembers which of its keys were read, so that a misspelt one is an error."""

    def __init__(self, fail: Callable[[str, str], NoReturn], where: str, data: Any) -> None:
        self.fail = fail
        self.where = where
        if not isinstance(data, dict):
            fail(where, "must be a table")
        self.data = dict(data)
        self.known: dict[str, None] = {}  # keys that were asked for, in their order

    def _key(self, key: str) -> str:
        return f"{self.where}.{key}" if self.where else key

    def raw(self, key: str) -> Any:
        self.known[key] = None
        return self.data.pop(key, None)

    def take(self, key: str, kind: type, *, required: bool = False, default: Any = None) -> Any:
        self.known[key] = None
        if key not in self.data:
            if required:
                near = get_close_matches(key, self.data, n=1)
                self.fail(self._key(key), "is missing" + (f"; is '{near[0]}' meant?" if near else ""))
            return default
        value = self.data.pop(key)
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            self.fail(self._key(key), f"must be {_KINDS[kind]}")
        return value

    def list_of(self, key: str, kind: type, *, required: bool = False, default: Iterable = ()) -> list:
        values = self.take(key, list, required=required, default=list(default))
        if not all(isinstance(value, kind) for value in values):
            self.fail(self._key(key), f"must be a list, each entry {_KINDS[kind]}")
        return values

    def one_of(self, key: str, allowed: tuple, *, required: bool = False, default: Any = None) -> Any:
        value = self.take(key, str, required=required, default=default)
        if value is not None and value not in allowed:
            self.fail(self._key(key), f"is '{value}'; it may be {', '.join(allowed)}")
        return value

    def regex(self, key: str, groups: int = 0) -> str | None:
        pattern = self.take(key, str)
        if pattern is None:
            return None
        try:
            found = re.compile(pattern, re.MULTILINE).groups
        except re.error as error:
            self.fail(self._key(key), f"is not a valid regex: {error}")
        if found < groups:
            self.fail(self._key(key), f"needs {groups} group{'s' if groups > 1 else ''} (...)")
        return pattern

    def table(self, key: str) -> "Table":
        self.known[key] = None
        return Table(self.fail, self._key(key), self.data.pop(key, {}))

    def tables(self, key: str) -> list["Table"]:
        return [
            Table(self.fail, f"{self._key(key)}[{index}]", entry) for index, entry in enumerate(self.list_of(key, dict))
        ]

    def done(self) -> None:
        for key in self.data:
            near = get_close_matches(key, self.known, n=1)
            self.fail(self._key(key), "is not a key that recipes have" + (f"; is '{near[0]}' meant?" if near else ""))


_KINDS = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}
