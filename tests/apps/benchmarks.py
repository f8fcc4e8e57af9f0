#!/usr/bin/env python3
"""The benchmark programs of apps/: each runs, says what its head promises, and takes the locks that it counts.

    benchmarks.py LIBRARY APPS [--full]

Runs are short and nothing is asked of speed. Exit status 1 if a test fails.
"""

import json
import re
import sys
import tempfile
from pathlib import Path

from programs import (
    BRIEF,
    LOCKS,
    MUTEXES,
    counted,
    each_has_help,
    each_range_lock,
    each_runs,
    need,
    refused,
    run,
    run_tests,
    sound,
    values,
)

# Each benchmark with the tails that it must have.
PROGRAMS = {
    "pairs": ("read",),
    "pairs --writes 0.25 --threads 3": ("read", "write"),
    "pairs --empty": ("read",),
    "pairs --writes 0.5 --inside 5 --outside 20": ("read", "write"),
    "pairs --mutex --threads 3": ("write",),
    "pairs --mutex --inside 10 --outside 20": ("write",),
    "alternator --threads 3": ("read",),
    "interference --locks 100": ("read",),
    "interference --table shared --slots 16": ("read",),
    "interference --table private --slots 256 --pin": ("read",),
    "rwbench --writes 0.5 --threads 4": ("read", "write"),
    "locktorture --seconds 0.05 --writers 0 --read-hold 0.000005": ("read",),
    "locktorture --seconds 0.2 --read-hold 0.01 --write-hold 0.002": ("read", "write"),
    "arrbench --threads 3": ("read", "write"),
    "arrbench --threads 3 --ranges full --reads 1": ("read",),
    "arrbench --threads 3 --ranges disjoint --reads 0": ("write",),
    "arrbench --threads 3 --lock paper-rw --reads 0.5": ("read", "write"),
    "arrbench --threads 3 --lock paper-ex --reads 0.5": ("read", "write"),
    "arrbench --threads 3 --segment 8": ("read", "write"),
    "manyheld --threads 3 --held 100": ("read", "write"),
    "rangefile --threads 3 --reads 0.5": ("read", "write"),
    "rangefile --threads 3 --locks ranges --reads 0.5": ("read", "write"),
    "rangefile --threads 3 --locks ranges --ranges disjoint --reads 1": ("read",),
    "openssl_digest": ("digest",),
    "openssl_digest --fetched": ("digest",),
    "openssl_handshakes --threads 3": ("connection",),
    "kyoto --records 2000 --mutation 40 --cursor 100": ("get", "change"),
    "kyoto --records 2000 --mutation 40 --cursor 100 --db cache": ("get", "change"),
}


def test_each_runs() -> None:
    each_runs(PROGRAMS)


def test_uncontended() -> None:
    for mode in ("read", "write", "mutex", "recursive"):
        for lock in (*LOCKS, *MUTEXES):
            done = run(f"uncontended {mode} 1000 3", lock)
            lines = re.fullmatch(r"([0-9.]+ ns/pair\n){3}", done.stdout)
            need(done.returncode == 0 and lines is not None, f"{mode} under {lock}: {done}")


def test_pingpong() -> None:
    for threads, lock in ((2, ""), *((n, mutex) for mutex in MUTEXES for n in (2, 5))):
        with tempfile.TemporaryDirectory() as folder:
            found = values(f"pingpong {threads} 200", lock, Path(folder) / "stats" if lock else None)
            need(set(found) == {"handovers_s", "handovers_cpu"} and min(found.values()) > 0, f"{lock}: {found}")
            if lock:
                (file,) = Path(folder).glob("stats.*")
                totals = json.loads(file.read_text())["mutexes"]["totals"]
                need(totals["signals"] == 200 * threads, f"{lock}: {totals}")
                need(totals["acquisitions"] >= 200 * threads + totals["waits"], f"{lock}: {totals}")


def test_without_tails() -> None:
    sound(values("pairs --seconds 0.05 --tails 0"), ())


def test_each_thread_does_the_least() -> None:
    for line in ("pairs --least 500", "kyoto --records 1000 --least 500"):
        found = values(f"{line} --threads 3 --seconds 0.01 --tails 0")
        need(found["ops"] >= 3 * 500, f"{line}: {found}")


def test_each_range_lock() -> None:
    each_range_lock(
        {
            "arrbench --threads 3 --reads 0.6": ("read", "write"),
            "arrbench --threads 3 --reads 0.6 --ranges full": ("read", "write"),
            "arrbench --threads 3 --reads 0.6 --ranges disjoint": ("read", "write"),
            "rangefile --threads 3 --reads 0.4 --blocks 20": ("read", "write"),
        }
    )


def test_many_held_ranges() -> None:
    for lock in ("list-rw", "sharded-rw", "kernel-rw"):
        for offset in (0, 2048):
            line = f"manyheld {BRIEF} --threads 3 --held 40 --offset {offset}"
            sound(values(line, range_lock=lock), ("read", "write"))


def test_a_file_without_locks_is_seen_to_break() -> None:
    done = run("rangefile --seconds 0.01 --tails 0 --threads 4 --blocks 1 --reads 0.2 --locks none --least 200")
    need(done.returncode == 1 and "wrong result" in done.stderr, f"status {done.returncode}: {done.stderr}")


def test_the_library_counts_the_same_acquisitions() -> None:
    """The acquisitions that a program reports are those that reached the lock."""
    warm_up = {"interference --seconds 0.03 --tails 0 --threads 3 --locks 50": 3 * 50 * 32}
    for line in (
        "pairs --seconds 0.03 --tails 0 --threads 3",
        "pairs --seconds 0.03 --tails 0 --threads 3 --writes 0.25",
        "alternator --seconds 0.03 --tails 0 --threads 3",
        *warm_up,
        "rwbench --seconds 0.03 --tails 0 --writes 0.1",
        "locktorture --seconds 0.1 --read-hold 0.001 --write-hold 0.001",
    ):
        with tempfile.TemporaryDirectory() as folder:
            found = values(line, "bravo-ba", Path(folder) / "stats")
            totals = counted(Path(folder))
        reads = found["reads"] + warm_up.get(line, 0)
        need(
            totals["reads"] == reads and totals["writes"] == found["writes"],
            f"{line}: {totals['reads']} and {totals['writes']} counted, {reads} and {found['writes']} done",
        )


def test_the_share_of_writes() -> None:
    found = values("pairs --seconds 0.03 --tails 0 --threads 2 --writes 0.3")
    need(abs(found["writes"] - found["ops"] * 0.3) <= 2, f"not 3 in 10: {found}")
    found = values("rwbench --seconds 0.3 --tails 0 --threads 2 --writes 0.3")
    spread = (found["ops"] * 0.3 * 0.7) ** 0.5
    need(abs(found["writes"] - found["ops"] * 0.3) <= 6 * spread, f"not 3 in 10: {found}")


def test_locks_inside_libraries() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = values("openssl_digest --seconds 0.03 --tails 0", "bravo-ba", Path(folder) / "stats")
        need(counted(Path(folder))["reads"] >= found["ops"], "less than a read lock a digest; 3.0 takes 8, 3.5 one")
    with tempfile.TemporaryDirectory() as folder:
        found = values("openssl_digest --seconds 0.03 --tails 0 --fetched", "bravo-ba", Path(folder) / "stats")
        need(counted(Path(folder))["reads"] < found["ops"], "a fetched algorithm still takes locks")
    with tempfile.TemporaryDirectory() as folder:
        found = values("openssl_handshakes --seconds 0.03 --tails 0", "bravo-ba", Path(folder) / "stats")
        need(counted(Path(folder))["reads"] >= 100 * found["ops"], "fewer than 100 read locks a connection")
    line = "kyoto --seconds 0.03 --tails 0 --records 1000 --mutation 50 --db"
    for db in ("protohash", "cache"):
        with tempfile.TemporaryDirectory() as folder:
            found = values(f"{line} {db}", "bravo-ba", Path(folder) / "stats")
            totals = counted(Path(folder))
        need(totals["reads"] + totals["writes"] >= found["ops"], f"{db}: fewer acquisitions than operations")
        if db == "protohash":
            need(totals["writes"] >= found["writes"], f"ProtoHashDB writes to change: {totals}, {found}")
        else:
            need(totals["writes"] < 50, f"CacheDB reads to change: {totals}")


def test_bad_input() -> None:
    refused(
        {
            "pairs --threads 0": "--threads",
            "pairs --threads 2.5": "--threads",
            "pairs --threads": "--threads",
            "pairs --writes 1.5": "--writes",
            "pairs --writes nan": "--writes",
            "pairs --seconds abc": "--seconds",
            "pairs --seconds -1": "--seconds",
            "pairs --sceonds 1": "--sceonds",
            "pairs 3": "3",
            "alternator --tails 1e9": "--tails",
            "interference --slots 100": "--slots",
            "interference --table other": "shared",
            "rwbench --writes x": "--writes",
            "locktorture --readers 0 --writers 0": "--readers",
            "openssl_digest --bytes -1": "--bytes",
            "arrbench --ranges some": "disjoint",
            "arrbench --lock list": "paper-rw",
            "arrbench --segment 257": "--segment",
            "arrbench --ranges disjoint --threads 257": "256",
            "rangefile --blocks 2 --threads 3 --ranges disjoint": "--blocks",
            "manyheld --offset 4096": "--offset",
            "kyoto --db stash": "protohash",
            "kyoto --mutation 100 --cursor 1": "--mutation",
            "uncontended sideways": "usage",
            "pingpong 1": "usage",
        }
    )


def test_help() -> None:
    each_has_help(PROGRAMS)


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
