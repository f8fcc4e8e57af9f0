"""Kyoto Cabinet's own tests. They check what they read and end with a line `ok`."""

from pathlib import Path

from suite.case import case
from suite.stage import Stage

PACKAGES = ("kyotocabinet-utils",)


def ends_well(stage: Stage, *command: str | Path) -> None:
    output = stage.swapped(*command, KCRNDSEED="1")
    stage.need(output.stdout.endswith("ok\n\n") or output.stdout.endswith("ok\n"), f"{command[0]} did not end with ok")


@case("kccachetest-wicked", packages=PACKAGES, acquisitions=10_000, mutexes=7000, quick=True, waits=("park", "yield"))
def cache_wicked(stage: Stage) -> None:
    """A cache of records: a random mix of all operations, transactions and cursors"""
    ends_well(stage, "kccachetest", "wicked", "-th", "3", "20000")


@case("kccachetest-order", packages=PACKAGES, acquisitions=10_000, quick=True, waits=("park", "yield"))
def cache_order(stage: Stage) -> None:
    """The same: each operation over all records in turn"""
    ends_well(stage, "kccachetest", "order", "-th", "3", "-rnd", "20000")


@case("kcprototest-order", packages=PACKAGES, acquisitions=10_000, quick=True, waits=("park", "yield"))
def proto_order(stage: Stage) -> None:
    """One lock over a hash map: gets read, sets and removes write"""
    ends_well(stage, "kcprototest", "order", "-th", "3", "-rnd", "5000")


@case("kcstashtest-order", packages=PACKAGES, acquisitions=10_000, quick=True, waits=("park", "yield"))
def stash_order(stage: Stage) -> None:
    """A global lock and 1024 slots of locks"""
    ends_well(stage, "kcstashtest", "order", "-th", "3", "-rnd", "5000")


@case("kchashtest-order", packages=PACKAGES, acquisitions=10_000, quick=True, waits=("park", "yield"))
def hash_order(stage: Stage) -> None:
    """A hash database in a file; holds over a thousand rwlocks at once"""
    ends_well(stage, "kchashtest", "order", "-th", "3", "-rnd", stage.tmp / "hash.kch", "3000")


@case("kcutiltest", packages=PACKAGES, acquisitions=10_000, quick=True)
def utilities(stage: Stage) -> None:
    """Its wrappers of mutexes and condition variables, and its parallel queue"""
    ends_well(stage, "kcutiltest", "mutex", "-th", "3", "2000")
    ends_well(stage, "kcutiltest", "cond", "-th", "3", "2000")
    ends_well(stage, "kcutiltest", "para", "-th", "3", "2000")
