"""A recipe: what a workload is. docs/recipes.md has the format; reader.py reads it from TOML."""

import math
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lockswap.base.choice import MUTEX, RANGE, RWLOCK
from lockswap.recipes.server import Server

BUILT_IN = ("threads", "seconds", "tmp", "apps", "port")
# Kinds of locks that a workload may take, and how many of them are called.
KINDS = {RWLOCK: "rwlocks", MUTEX: "mutexes", RANGE: "range locks"}
GUESSED_THREADS = 8
PLACEHOLDER = re.compile(r"\{\{|\}\}|\{(\w*)\}")


@dataclass(frozen=True)
class Metric:
    name: str
    role: str
    unit: str
    better: str
    regex: str | None = None
    stream: str = "both"
    agg: str = "last"
    per: str | None = None
    scale: float = 1.0
    source: str | None = None  # "wall" or "cpu" instead of a regex
    kept: str | None = None  # the metric that says which share of the time this one stands for
    instead: str | None = None  # the metric over all the time
    work: tuple[str | float, ...] = ()  # factors; a name is a placeholder's. The figure becomes their product / it
    optional: bool = False

    def operations(self, values: Mapping[str, Any]) -> float:
        """How many operations the time was needed for."""
        return math.prod(float(values[factor] if isinstance(factor, str) else factor) for factor in self.work)


@dataclass(frozen=True)
class Expectation:
    why: str
    stream: str = "both"
    match: str | None = None
    no_match: str | None = None
    equal: str | None = None
    regex: str | None = None
    at_least: float | None = None
    at_most: float | None = None


@dataclass(frozen=True)
class LockCheck:
    threads: int = 2
    seconds: int = 1
    params: Mapping[str, Any] = field(default_factory=dict)
    min_reads: int = 0
    min_writes: int = 0
    min_acquisitions: int = 1
    operations: str | None = None
    reads_per_operation: float | None = None
    writes_per_operation: float | None = None
    acquisitions_per_operation: float | None = None
    min_mutex_acquisitions: int = 1
    mutex_acquisitions_per_operation: float | None = None
    program: str | None = None


@dataclass(frozen=True)
class Variant:
    """The same program with other values of params: a workload of its own, called RECIPE-NAME."""

    name: str
    title: str
    params: Mapping[str, Any]


@dataclass(frozen=True)
class Recipe:
    name: str
    title: str
    source: str
    measures: str
    command: tuple[str, ...]
    threads: tuple[int, ...]
    metrics: tuple[Metric, ...]
    expect: tuple[Expectation, ...] = ()
    lock_check: LockCheck = field(default_factory=LockCheck)
    note: str = ""
    build: str | None = None
    prepare: tuple[tuple[str, ...], ...] = ()
    cleanup: tuple[tuple[str, ...], ...] = ()
    server: Server | None = None  # the program under test, where `command` is only its load
    takes: tuple[str, ...] = (RWLOCK,)  # the first kind is what it is about
    env: Mapping[str, str] = field(default_factory=dict)
    threads_label: str = "threads"
    seconds: int = 2
    fixed_work: bool = False
    run_s: float | None = None  # of fixed work: a guess at the length of a run; see guess_s
    params: Mapping[str, Any] = field(default_factory=dict)
    quick_params: Mapping[str, Any] = field(default_factory=dict)
    peers: tuple[str, ...] = ()  # values of the parameter `peer_param` that are compared as locks are
    peer_param: str = ""
    variants: tuple[Variant, ...] = ()
    family: str = ""  # of a variant: the recipe that it comes from
    of_structures: bool = False  # it is about a structure that stands beside the locks
    tags: tuple[str, ...] = ()
    timeout: float | None = None
    exit_status: int = 0
    skip_status: int | None = None  # the program's word that it can't run here
    memory_mb: int = 0
    tmp_mb: int = 0

    @property
    def by_name(self) -> bool:
        """Not part of a campaign that names no workloads."""
        return self.of_structures or "long" in self.tags or "extra" in self.tags

    @property
    def quick(self) -> bool:
        return "quick" in self.tags

    def time_limit(self, seconds: int) -> float:
        """Seconds until a run counts as hung."""
        if self.timeout is not None:
            return self.timeout
        return 60.0 if self.fixed_work else 30.0 + 5.0 * seconds

    def guess_s(self, threads: int, seconds: int, params: Mapping[str, Any]) -> float | None:
        """Seconds that a run takes, before any has been seen; None if the recipe doesn't say it.

        `run_s` is of the default parameters and GUESSED_THREADS threads; each thread has its own work.
        """
        if not self.fixed_work:
            return seconds
        if self.run_s is None:
            return None
        sizes = {name: size for name, size in self.params.items() if isinstance(size, int | float) and size}
        share = math.prod(params[name] / size for name, size in sizes.items() if isinstance(params[name], int | float))
        return self.run_s * share * threads / GUESSED_THREADS

    def fill(self, words: tuple[str, ...], values: Mapping[str, Any]) -> list[str]:
        return [fill(word, values) for word in words]

    def missing_program(self, apps: Path) -> str | None:
        """The first of its programs that is not there."""
        for program in self.programs(apps):
            if shutil.which(program) is None:
                return Path(program).name
        return None

    def programs(self, apps: Path) -> list[str]:
        """What its commands start: names that PATH has, or paths."""
        values = {**self.params, "apps": apps, **dict.fromkeys(("threads", "seconds", "tmp", "port"), "")}
        commands = [self.command, *([self.server.command] if self.server else [])]
        return [fill(command[0], values) for command in commands]

    def is_ours(self, program: str) -> bool:
        """Whether it's one of build/apps, by its name, and not one of PATH."""
        return f"{{apps}}/{program}" in (self.command[0], *(self.server.command[:1] if self.server else ()))

    def program_present(self, apps: Path) -> bool:
        return self.missing_program(apps) is None


def fill(text: str, values: Mapping[str, Any]) -> str:
    """Replace {name}; a doubled brace stands for one."""

    def replace(match: re.Match) -> str:
        if match[0] in ("{{", "}}"):
            return match[0][0]
        return str(values[match[1]])

    return PLACEHOLDER.sub(replace, text)
