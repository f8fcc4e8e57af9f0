"""`lockswap list`: what there is to choose from."""

import json
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from lockswap.base.choice import NONE
from lockswap.base.paths import Paths
from lockswap.base.registry import Lock, Registry
from lockswap.base.text import words
from lockswap.recipes import reader
from lockswap.recipes.recipe import KINDS, Recipe


def show(paths: Paths, as_json: bool) -> None:
    registry = Registry.load(paths)
    workloads = reader.load_all(paths.recipes)
    if as_json:
        print(_json(paths, registry, workloads))
        return
    console = Console()
    # Piped, a table shall not be cut to 80 columns.
    if not console.is_terminal:
        console = Console(width=200)
    console.print(_locks(registry))
    console.print(_mutexes(registry))
    if registry.range_locks:
        console.print(_range_locks(registry))
    console.print(_waits(registry))
    console.print(_workloads(paths, workloads))


def _locks(registry: Registry) -> Table:
    table = _table(f"Reader-writer locks (lockswap {registry.version})")
    for column in ("name", "what it is", "fairness", "can", "bytes", "source"):
        table.add_column(column, justify="right" if column == "bytes" else "left", overflow="fold")
    table.add_row(NONE, "the program as it is, without lockswap; compare always measures it", "", "", "", "")
    for lock in registry.rwlocks:
        table.add_row(_name(lock), lock.summary, lock.fairness, ", ".join(lock.capabilities), _bytes(lock), lock.source)
    return table


def _mutexes(registry: Registry) -> Table:
    table = _table("Mutexes, each with condition variables to it")
    for column in ("name", "what it is", "fairness", "bytes", "source"):
        table.add_column(column, justify="right" if column == "bytes" else "left", overflow="fold")
    for lock in registry.mutexes:
        table.add_row(_name(lock), lock.summary, lock.fairness, _bytes(lock), lock.source)
    return table


def _name(lock: Lock) -> str:
    return lock.name + (f"\n[dim]= {', '.join(lock.aliases)}[/]" if lock.aliases else "")


def _bytes(lock: Lock) -> str:
    return "" if lock.footprint_bytes is None else str(lock.footprint_bytes)


def _range_locks(registry: Registry) -> Table:
    table = _table("Range locks, for programs that call them (docs/range-locks.md)")
    for column in ("name", "what it is", "fairness", "source"):
        table.add_column(column, overflow="fold")
    for lock in registry.range_locks:
        name = lock.name + ("\n[dim]or :RWLOCK behind it[/]" if lock.of_rwlocks else "")
        table.add_row(name, lock.summary, lock.fairness, lock.source)
    return table


def _waits(registry: Registry) -> Table:
    table = _table("Wait policies")
    table.add_column("name")
    table.add_column("what a waiting thread does")
    for name, summary in registry.waits.items():
        table.add_row(name, summary)
    return table


def _workloads(paths: Paths, workloads: dict[str, Recipe]) -> Table:
    table = _table("Workloads (apps/recipes)")
    for column in ("name", "what it measures", "takes", "threads", "campaign", "built", "source"):
        table.add_column(column, overflow="fold")
    for recipe in workloads.values():
        campaign = "by name only" if recipe.by_name else "quick" if recipe.quick else "normal"
        built = "yes" if recipe.program_present(paths.apps) else "not yet"
        threads = ",".join(map(str, recipe.threads))
        takes = words(KINDS[kind] for kind in recipe.takes)
        table.add_row(recipe.name, recipe.measures, takes, threads, campaign, built, recipe.source)
    return table


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0))


def _json(paths: Paths, registry: Registry, workloads: dict[str, Recipe]) -> str:
    return json.dumps(
        {
            "schema": 1,
            "version": registry.version,
            "rwlocks": [asdict(lock) for lock in registry.rwlocks],
            "mutexes": [
                {key: value for key, value in asdict(lock).items() if key not in ("capabilities", "kinds")}
                for lock in registry.mutexes
            ],
            "range_locks": [asdict(lock) for lock in registry.range_locks],
            "waits": registry.waits,
            "workloads": [
                asdict(recipe) | {"built": recipe.program_present(paths.apps)} for recipe in workloads.values()
            ],
        },
        indent=2,
    )
