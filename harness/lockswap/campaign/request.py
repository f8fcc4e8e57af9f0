"""What the user asked `lockswap compare` for: each option once, for the command line and for --resume."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lockswap.records.scrub import scrub


@dataclass(frozen=True)
class Request:
    """What the command line said; None where it said nothing."""

    workloads: list[str]
    locks: list[str]
    mutexes: list[str]
    ranges: list[str]
    wait: str | None
    threads: list[int] | None
    repeats: int | None
    seconds: int | None
    timeout: float | None
    pin: str | None
    numactl: str
    preload: list[str]
    out: Path | None
    name: str | None
    quick: bool
    seed: int | None
    command: list[str]
    metrics: list[str]
    better: str
    until: float | None
    budget: float | None
    against: str | None
    fail_below: float | None
    per_cpu: bool
    server: list[str]
    ready: str | None
    ready_timeout: float | None
    load: list[str]
    stop: str | None
    stop_timeout: float | None
    prepare: list[list[str]]
    cleanup: list[list[str]]
    perf_record: bool

    def stored(self) -> dict[str, Any]:
        """For campaign.toml, so that --resume asks for the same."""
        fields = vars(self) | {"out": None, "name": None}
        fields |= {key: _each_word(scrub, fields[key]) for key in _WORDS}
        return {key: value for key, value in fields.items() if value not in (None, [], "")}

    @classmethod
    def from_stored(cls, fields: dict[str, Any]) -> "Request":
        empty: dict[str, Any] = dict.fromkeys(cls.__dataclass_fields__)
        empty |= {"numactl": "", "quick": False, "better": "higher", "per_cpu": False, "perf_record": False}
        empty |= {key: [] for key in ("workloads", "locks", "mutexes", "ranges", "metrics", *_WORDS)}
        known = {key: value for key, value in fields.items() if key in empty}
        known |= {key: _each_word(_at_home, known.get(key, [])) for key in _WORDS}
        return cls(**(empty | known))


# Fields with words of commands, in which the user's home folder is not written down.
_WORDS = ("command", "preload", "server", "load", "prepare", "cleanup")


def _each_word(change: Callable[[str], str], words: list) -> list:
    return [change(word) if isinstance(word, str) else _each_word(change, word) for word in words]


def _at_home(word: str) -> str:
    return str(Path(word).expanduser()) if word.startswith("~") else word
