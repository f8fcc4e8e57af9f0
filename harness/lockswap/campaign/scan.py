"""`--scan NAME=V1,V2,...`: what is measured under each value of a variable.

A variable of the library is part of what runs under the program, so each lock becomes one choice a value, and all of
them stand in one table. A variable of the program's own changes the program, so each value is a workload.
"""

import itertools
import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from lockswap.base.choice import BASELINES, COND, POLICY, Choice
from lockswap.base.errors import UserError
from lockswap.base.nearest import unknown
from lockswap.base.registry import Registry
from lockswap.campaign.job import Job
from lockswap.recipes.recipe import Recipe
from lockswap.run.preload import STRICT, clean_environment, lock_variables
from lockswap.run.setup import Setup

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
OF_LIBRARY = "LOCKSWAP_"
# What chooses locks has options of its own; what writes files or speaks is not for measured runs.
_OPTIONS = {"LOCKSWAP_RWLOCK": "--rwlock", "LOCKSWAP_MUTEX": "--mutex", "LOCKSWAP_RANGE": "--range"}
_OPTIONS |= {COND: "--cond", POLICY: "--policy"}
_NOT_MEASURED = ("LOCKSWAP_STATS", "LOCKSWAP_VERBOSE", "LOCKSWAP_AUDIT", "LOCKSWAP_FUZZ")
_NOT_MEASURED += ("LOCKSWAP_HOME", STRICT)

Setting = tuple[str, str]


@dataclass(frozen=True)
class Scan:
    """The variables with their values, in the order in which they were given."""

    of_library: dict[str, list[str]]
    of_program: dict[str, list[str]]

    @classmethod
    def parse(cls, registry: Registry, texts: Iterable[str], wait: str | None) -> "Scan":
        found: dict[str, list[str]] = {}
        for text in texts:
            name, equals, values = text.partition("=")
            if not equals or not _NAME.fullmatch(name):
                raise UserError(f"--scan '{text}': write NAME=VALUE,VALUE,... as in LOCKSWAP_SPIN=0,50,500")
            if name in found:
                raise UserError(f"--scan {name} is given twice; write all its values after one '='")
            found[name] = list(dict.fromkeys(values.split(",")))
            if name.startswith(OF_LIBRARY):
                _check(registry, name, found[name], wait)
        mine = {name: values for name, values in found.items() if name.startswith(OF_LIBRARY)}
        return cls(mine, {name: values for name, values in found.items() if name not in mine})

    def labels(self, labels: Iterable[str]) -> list[str]:
        """Each lock under each value; what is glibc's own does not ask the library's variables."""
        found = []
        for label in labels:
            choice = Choice.of(label)
            settings = [()] if label in BASELINES else _products(self.of_library)
            found += [replace(choice, settings=choice.settings + one).label for one in settings]
        return found

    def jobs(self, job: Job) -> list[Job]:
        return [_with_settings(job, settings) if settings else job for settings in _products(self.of_program)]


def _check(registry: Registry, name: str, values: list[str], wait: str | None) -> None:
    known = {row["name"] for row in registry.config} - {*_OPTIONS, *_NOT_MEASURED}
    if name in _OPTIONS:
        raise UserError(f"--scan {name}: to compare several locks, use {_OPTIONS[name]} {','.join(values)}")
    if name in _NOT_MEASURED:
        raise UserError(f"--scan {name}: it does not change how locks behave; scan another variable")
    if name not in known:
        raise unknown("variable", name, sorted(known), "lockswap list variables")
    if name == "LOCKSWAP_WAIT" and wait:
        raise UserError("--scan LOCKSWAP_WAIT can't be combined with --wait, which sets it too; drop one")
    if wrong := [value for value in values if "@" in value or "+" in value or not value]:
        raise UserError(f"--scan {name}: '{wrong[0]}' is not a value; 'lockswap list {name}' shows what it takes")


def _products(variables: dict[str, list[str]]) -> Iterator[tuple[Setting, ...]]:
    """One empty setting where there are no variables."""
    return itertools.product(*([(name, value) for value in values] for name, values in variables.items()))


def _with_settings(job: Job, settings: tuple[Setting, ...]) -> Job:
    recipe = job.recipe
    said = ", ".join(f"{name}={value}" for name, value in settings)
    name = "-".join([recipe.name, *(re.sub(r"[^A-Za-z0-9_.-]+", "-", f"{name}-{value}") for name, value in settings)])
    env = {name: value.replace("{", "{{").replace("}", "}}") for name, value in settings}
    changed: Recipe = replace(
        recipe,
        name=name,
        title=f"{recipe.title}, {said}",
        env={**recipe.env, **env},
        family=recipe.family or recipe.name,
    )
    return replace(job, recipe=changed, params={**job.params, **dict(settings)})


def refuse_wrong_values(setup: Setup, labels: Iterable[str]) -> None:
    """The library itself says what a variable may be: it ends a program that has another value, with status 2."""
    for label in labels:
        choice = Choice.of(label)
        if not choice.settings and choice.policy is None:
            continue
        env = {key: value for key, value in clean_environment(os.environ).items() if key != POLICY}
        existing = env.get("LD_PRELOAD", "")
        env |= lock_variables(setup.paths.library, choice, setup.wait, existing, policies=setup.policies)
        tried = subprocess.run(["true"], env=env, capture_output=True, text=True)
        if tried.returncode == 2 and tried.stderr:
            option = "--scan" if choice.policy is None else f"--policy {setup.policies[choice.policy]}"
            raise UserError(f"{option}: {tried.stderr.strip().splitlines()[-1].removeprefix('lockswap: ')}")
