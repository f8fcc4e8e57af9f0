"""The locks that exist, as the C++ registry prints them: the harness has no list of its own."""

import json
import subprocess
from dataclasses import dataclass, field
from difflib import get_close_matches

from lockswap.base.choice import NONE, RANGE_MARK
from lockswap.base.errors import UserError
from lockswap.base.paths import Paths

SCHEMA = 1


@dataclass(frozen=True)
class Lock:
    name: str
    aliases: tuple[str, ...] = ()
    summary: str = ""
    source: str = ""
    fairness: str = ""
    footprint_bytes: int | None = None
    capabilities: tuple[str, ...] = ()
    kinds: str = ""

    @classmethod
    def read(cls, lock: dict) -> "Lock":
        return cls(
            name=lock["name"],
            aliases=tuple(lock.get("aliases", ())),
            summary=lock.get("summary", ""),
            source=lock.get("source", ""),
            fairness=lock.get("fairness", ""),
            footprint_bytes=lock.get("footprint_bytes"),
            capabilities=tuple(lock.get("capabilities", ())),
            kinds=lock.get("kinds", ""),
        )


@dataclass(frozen=True)
class RangeLock:
    name: str
    summary: str = ""
    source: str = ""
    fairness: str = ""
    of_rwlocks: bool = False  # ":NAME" may follow


@dataclass(frozen=True)
class Registry:
    version: str
    rwlocks: tuple[Lock, ...]
    mutexes: tuple[Lock, ...] = ()
    waits: dict[str, str] = field(default_factory=dict)
    config: tuple[dict, ...] = ()
    range_locks: tuple[RangeLock, ...] = ()

    @classmethod
    def load(cls, paths: Paths) -> "Registry":
        program = paths.registry
        try:
            out = subprocess.run([program], capture_output=True, text=True, timeout=10, check=True).stdout
            data = json.loads(out)
        except (OSError, subprocess.SubprocessError, json.JSONDecodeError) as error:
            raise UserError(f"{program} does not work ({error}); rebuild it with './run.sh build'") from error
        if data.get("schema") != SCHEMA:
            raise UserError(
                f"{program} speaks schema {data.get('schema')}, this harness {SCHEMA}; rebuild with './run.sh build'"
            )
        rwlocks, mutexes = (tuple(map(Lock.read, data.get(kind, ()))) for kind in ("rwlocks", "mutexes"))
        waits = {wait["name"]: wait.get("summary", "") for wait in data.get("waits", ())}
        ranges = tuple(RangeLock(**row) for row in data.get("range_locks", ()))
        return cls(data.get("version", "?"), rwlocks, mutexes, waits, tuple(data.get("config", ())), ranges)

    def rwlock(self, name: str) -> str:
        """The canonical name of a lock, whatever case or alias it was typed in."""
        return _canonical("rwlock", name, self.rwlocks)

    def mutex(self, name: str) -> str:
        return _canonical("mutex", name, self.mutexes)

    def range_lock(self, name: str) -> str:
        """The canonical name of a range lock in a campaign: with RANGE before it."""
        own, colon, inner = name.strip().removeprefix(RANGE_MARK).partition(":")
        table = {lock.name: lock for lock in self.range_locks}
        found = _look_up("range lock", own, {key.lower(): key for key in table}, list(table))
        if not colon:
            return RANGE_MARK + found
        if not table[found].of_rwlocks:
            raise UserError(f"'{name}': {found} is not made of reader-writer locks, so nothing may follow it")
        return f"{RANGE_MARK}{found}:{self.rwlock(inner)}"

    def wait(self, name: str) -> str:
        return _look_up("wait policy", name, {wait.lower(): wait for wait in self.waits}, list(self.waits))


def _canonical(what: str, name: str, locks: tuple[Lock, ...]) -> str:
    table = {NONE: NONE}
    for lock in locks:
        table.update({spelling.lower(): lock.name for spelling in (lock.name, *lock.aliases)})
    return _look_up(what, name, table, [NONE, *(lock.name for lock in locks)])


def _look_up(what: str, name: str, table: dict[str, str], valid: list[str]) -> str:
    found = table.get(name.strip().lower())
    if found is None:
        near = get_close_matches(name.strip().lower(), table, n=1)
        guess = f", did you mean '{near[0]}'?" if near else ""
        raise UserError(f"no {what} '{name}'{guess} (there are: {', '.join(valid)})")
    return found
