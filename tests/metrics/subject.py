"""Runs metrics_subject.c, and reads what it counted."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
SUBJECT = BUILD / "tests/metrics/metrics_subject"
PRELOAD = BUILD / "liblockswap.so"
sys.path[:0] = [str(ROOT / "harness"), str(ROOT / "tests")]

import command_server  # noqa: E402
from lockswap.metrics.folder import of_folder  # noqa: E402
from lockswap.metrics.labels import Labels  # noqa: E402
from lockswap.metrics.record import Counts, Record  # noqa: E402

LISTED = json.loads(subprocess.run([BUILD / "bin/lockswap-registry"], capture_output=True, check=True).stdout)
RWLOCKS, MUTEXES = (
    [row["name"] for row in LISTED[kind] if not row["passes_through"] and not row["chosen"]]
    for kind in ("rwlocks", "mutexes")
)
WAITS = 5  # of each that subject.c makes wait
HELD_S = 0.03
COUNTED = 200_000


def environment(**more: str) -> dict[str, str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
    return env | {"PYTHONPATH": str(ROOT / "harness"), "LOCKSWAP_HOME": str(ROOT)} | more


def counting(folder: Path, **more: str) -> dict[str, str]:
    return environment(LD_PRELOAD=str(PRELOAD), LOCKSWAP_METRICS=str(folder), **more)


def run(folder: Path, *words: str, **more: str) -> list[Record]:
    """The records that it leaves, in the order of their files' names."""
    done = subprocess.run([SUBJECT, *words], env=counting(folder, **more), capture_output=True, text=True, check=True)
    assert done.stderr == "", done.stderr
    found = of_folder(folder)
    assert not found.unreadable
    return found.records


def by_name(record: Record) -> dict[tuple[str, str], Counts]:
    """By lock and mode."""
    return {(one.lock, mode): counts for one in Labels().of(record) for mode, counts in one.counts.items()}


def names(record: Record) -> Counter:
    return Counter(one.lock for one in Labels().of(record))


def lockswap(*words: object) -> subprocess.CompletedProcess:
    return command_server.run("metrics", *words, env=environment())
