"""The locks that exist, as the C++ registry prints them: the harness has no list of its own."""

import json
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lockswap.base.choice import NONE, PTHREAD, RANGE_MARK
from lockswap.base.errors import UserError
from lockswap.base.nearest import unknown
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
    passes_through: bool = False  # every call goes on to glibc
    compared_by_default: bool = False
    same_code_as: str | None = None  # another lock, of which this is only a name
    chosen: str | None = None  # the lock that this name, such as auto, stands for here

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
            # A library that was built before its registry had these two says neither.
            passes_through=lock.get("passes_through", lock["name"] == PTHREAD),
            compared_by_default=lock.get("compared_by_default", False),
            same_code_as=lock.get("same_code_as"),
            chosen=lock.get("chosen"),
        )


@dataclass(frozen=True)
class RangeLock:
    name: str
    summary: str = ""
    source: str = ""
    fairness: str = ""
    of_rwlocks: bool = False  # ":NAME" may follow
    words: tuple[str, ...] = ()  # each may follow, behind ":"

    @classmethod
    def read(cls, lock: dict) -> "RangeLock":
        found = {key: lock[key] for key in cls.__dataclass_fields__ if key in lock}
        return cls(**found | {"words": tuple(found.get("words", ()))})


@dataclass(frozen=True)
class Family:
    """Locks that are one thing over several others, such as bravo-ba and bravo-cohort: `prefix` and a base each."""

    prefix: str
    bases: tuple[str, ...]
    summaries: tuple[str, ...]

    @property
    def members(self) -> list[str]:
        return [self.prefix + base for base in self.bases]


@dataclass(frozen=True)
class Registry:
    version: str
    rwlocks: tuple[Lock, ...]
    mutexes: tuple[Lock, ...] = ()
    waits: dict[str, str] = field(default_factory=dict)
    config: tuple[dict, ...] = ()
    range_locks: tuple[RangeLock, ...] = ()
    left_out: tuple[str, ...] = ()  # locks that this build could have

    @classmethod
    def load(cls, paths: Paths) -> "Registry":
        program = paths.registry
        try:
            out = subprocess.run([program], capture_output=True, text=True, timeout=10, check=True).stdout
            data = json.loads(out)
        except (OSError, subprocess.SubprocessError, json.JSONDecodeError) as error:
            raise UserError(f"{program} does not work ({error}); rebuild it with './run.sh build'") from error
        if data.get("schema") != SCHEMA:
            raise UserError(f"{program} has schema {data.get('schema')}, not {SCHEMA}; rebuild with './run.sh build'")
        rwlocks, mutexes = (tuple(map(Lock.read, data.get(kind, ()))) for kind in ("rwlocks", "mutexes"))
        waits = {wait["name"]: wait.get("summary", "") for wait in data.get("waits", ())}
        ranges = tuple(RangeLock.read(row) for row in data.get("range_locks", ()))
        config, left_out = (tuple(data.get(key, ())) for key in ("config", "left_out"))
        return cls(data.get("version", "?"), rwlocks, mutexes, waits, config, ranges, left_out)

    @property
    def default_rwlocks(self) -> list[str]:
        """What `compare` compares where nothing is named."""
        return _compared_by_default(self.rwlocks)

    @property
    def default_mutexes(self) -> list[str]:
        return _compared_by_default(self.mutexes)

    @property
    def labels(self) -> list[str]:
        """The labels of all locks, those compared by default first. A mutex called as an rwlock is not repeated."""
        others = [lock.name for lock in (*self.rwlocks, *self.mutexes)]
        ranges = [RANGE_MARK + lock.name for lock in self.range_locks]
        return list(dict.fromkeys([*self.default_rwlocks, *self.default_mutexes, *others, *ranges]))

    @staticmethod
    def families(locks: Iterable[Lock]) -> list[Family]:
        """Groups of two or more locks called PREFIX-BASE, where BASE is the longest name of another of `locks`."""
        summaries = {lock.name: lock.summary for lock in locks}
        found: dict[str, list[str]] = {}
        for name in summaries:
            bases = [base for base in summaries if name.endswith(f"-{base}")]
            if bases:
                base = max(bases, key=len)
                found.setdefault(name.removesuffix(base), []).append(base)
        return [
            Family(prefix, tuple(bases), tuple(summaries[prefix + base] for base in bases))
            for prefix, bases in found.items()
            if len(bases) > 1
        ]

    def rwlock(self, name: str) -> str:
        """The canonical name of a lock, whatever case or alias it was typed in."""
        return self._canonical("rwlock", name, self.rwlocks, ("mutex", self.mutexes))

    def mutex(self, name: str) -> str:
        return self._canonical("mutex", name, self.mutexes, ("rwlock", self.rwlocks))

    def range_lock(self, name: str) -> str:
        """The canonical name of a range lock in a campaign: with RANGE before it."""
        outer, colon, behind = name.strip().removeprefix(RANGE_MARK).partition(":")
        table = {lock.name: lock for lock in self.range_locks}
        found = self._look_up("range lock", outer, {key.lower(): key for key in table}, "lockswap list ranges")
        if not colon:
            return RANGE_MARK + found
        if table[found].of_rwlocks:
            return f"{RANGE_MARK}{found}:{self.rwlock(behind)}"
        return ":".join([RANGE_MARK + found, *self._range_words(name, table[found], behind)])

    def _range_words(self, name: str, lock: RangeLock, behind: str) -> list[str]:
        """The options behind a range lock's name, in the order in which labels have them."""
        if not lock.words:
            raise UserError(f"'{name}': {lock.name} takes no options, so nothing may follow its name")
        typed = [
            self._look_up("option", word, {w: w for w in lock.words}, "lockswap list ranges")
            for word in behind.split(":")
        ]
        return [word for word in lock.words if word in typed]

    def wait(self, name: str) -> str:
        return self._look_up("wait policy", name, {wait.lower(): wait for wait in self.waits}, "lockswap list")

    def _canonical(self, what: str, name: str, locks: tuple[Lock, ...], other: tuple[str, tuple[Lock, ...]]) -> str:
        table = spellings(locks)
        kind, others = other
        elsewhere = spellings(others).get(name.strip().lower())
        if elsewhere and name.strip().lower() not in table:
            article = "an" if kind == "rwlock" else "a"
            raise UserError(f"no {what} '{name}': {elsewhere} is {article} {kind}, so write --{kind} {elsewhere}")
        return self._look_up(what, name, table, "lockswap list")

    def unknown(self, what: str, name: str, there: Iterable[str] | Mapping[str, str], see: str) -> UserError:
        """An error for "there is no WHAT called NAME", or for a lock that this build leaves out."""
        if name.strip().lower() in self.left_out:
            return UserError(f"'{name}' was left out of this build (LOCKSWAP_WITHOUT); '{see}' shows what it has")
        return unknown(what, name, there, see)

    def _look_up(self, what: str, name: str, table: dict[str, str], see: str) -> str:
        found = table.get(name.strip().lower())
        if found is None:
            raise self.unknown(what, name, table, see)
        return found


def spellings(locks: Iterable[Lock]) -> dict[str, str]:
    """The name of each lock by name and aliases in lower case, and `none`."""
    found = {NONE: NONE}
    for lock in locks:
        found.update({spelling.lower(): lock.name for spelling in (lock.name, *lock.aliases)})
    return found


def known_labels(paths: Paths) -> list[str]:
    """The labels of all locks of this tree; none if it is not built, since a report can be made all the same."""
    try:
        return Registry.load(paths).labels
    except UserError:
        return []


def _compared_by_default(locks: tuple[Lock, ...]) -> list[str]:
    """What the registry says; all that are not glibc's where it says nothing."""
    said = [lock.name for lock in locks if lock.compared_by_default]
    return said or [lock.name for lock in locks if not lock.passes_through]
