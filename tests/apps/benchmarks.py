#!/usr/bin/env python3
"""The benchmark programs of apps/: each runs, says what its head promises, and takes the locks that it counts.

    benchmarks.py LIBRARY APPS [--full]

Without --full a quarter of the address space's workloads and designs is combined. Runs are short and nothing is asked
of speed. Exit status 1 if a test fails.
"""

import json
import math
import os
import re
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

library, apps = (Path(a).resolve() for a in sys.argv[1:3])
FULL = "--full" in sys.argv[3:]
LOCKS = ("", "ba", "bravo-ba")  # "": the program as it is
MUTEXES = ("ticket", "mcs", "clh")

RATES = ("ops_s", "reads_s", "writes_s", "ops_cpu", "fairness", "ops", "reads", "writes")


def need(condition: bool, what: str) -> None:
    if not condition:
        raise AssertionError(what)


def run(line: str, lock: str = "", stats: Path | None = None, range_lock: str = "") -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_") and k != "LD_PRELOAD"}
    if lock:
        kind = "LOCKSWAP_MUTEX" if lock in MUTEXES else "LOCKSWAP_RWLOCK"
        environment |= {"LD_PRELOAD": str(library), kind: lock}
    if stats:
        environment |= {"LOCKSWAP_STATS": str(stats)}
    if range_lock:
        environment |= {"LOCKSWAP_RANGE": range_lock}
    command = line.split()
    return subprocess.run(
        [str(apps / command[0]), *command[1:]], capture_output=True, text=True, env=environment, timeout=120
    )


def values(line: str, lock: str = "", stats: Path | None = None, range_lock: str = "") -> dict[str, float]:
    done = run(line, lock, stats, range_lock)
    need(done.returncode == 0, f"status {done.returncode}: {done.stderr}")
    need(done.stderr == "", f"stderr is {done.stderr!r}")
    found: dict[str, float] = {}
    for text in done.stdout.splitlines():
        need(re.fullmatch(r"(\w+ [0-9.]+)( \w+ [0-9.]+)*", text) is not None, f"not pairs of name and value: {text!r}")
        words = text.split()
        for name, value in zip(words[::2], words[1::2], strict=True):
            need(name not in found, f"{name} is said twice")
            found[name] = float(value)
    return found


def sound(found: dict[str, float], kinds: tuple[str, ...]) -> None:
    """What holds for every benchmark, however fast the machine is. `kinds`: the tails that must be there."""
    for name in RATES:
        need(name in found, f"{name} is missing in {found}")
    need(found["ops"] > 0 and found["ops_s"] > 0 and found["ops_cpu"] > 0, f"nothing was done: {found}")
    need(found["reads"] + found["writes"] == found["ops"], f"reads and writes are not all: {found}")
    need(abs(found["reads_s"] + found["writes_s"] - found["ops_s"]) <= 1, f"nor are they a second: {found}")
    need(0 <= found["fairness"] <= 1, f"fairness: {found}")
    need(0 <= found.get("kept", 0) <= 1, f"kept: {found}")
    there = {name.removesuffix("_timed") for name in found if name.endswith("_timed")}
    need(there == set(kinds), f"tails of {there}, expected {kinds}")
    for kind in kinds:
        tail = [found[f"{kind}_{which}_ns"] for which in ("p50", "p99", "p999", "max")]
        need(tail == sorted(tail) and tail[-1] > 0, f"{kind}: not rising: {tail}")
        need(found[f"{kind}_timed"] > 0, f"{kind}: none timed")


def counted(folder: Path) -> dict[str, int]:
    (file,) = folder.glob("stats.*")
    return json.loads(file.read_text())["totals"]


# Each benchmark with the tails that it must have.
PROGRAMS = {
    "pairs --seconds 0.1 --tails 0.1": ("read",),
    "pairs --seconds 0.1 --tails 0.1 --writes 0.25 --threads 3": ("read", "write"),
    "pairs --seconds 0.1 --tails 0.1 --empty": ("read",),
    "pairs --seconds 0.1 --tails 0.1 --writes 0.5 --inside 5 --outside 20": ("read", "write"),
    "pairs --seconds 0.1 --tails 0.1 --mutex --threads 3": ("write",),
    "pairs --seconds 0.1 --tails 0.1 --mutex --inside 10 --outside 20": ("write",),
    "alternator --seconds 0.1 --tails 0.1 --threads 3": ("read",),
    "interference --seconds 0.1 --tails 0.1 --locks 100": ("read",),
    "interference --seconds 0.1 --tails 0.1 --table shared --slots 16": ("read",),
    "interference --seconds 0.1 --tails 0.1 --table private --slots 256 --pin": ("read",),
    "rwbench --seconds 0.1 --tails 0.1 --writes 0.5 --threads 4": ("read", "write"),
    "locktorture --seconds 0.2 --writers 0 --read-hold 0.000005": ("read",),
    "locktorture --seconds 0.2 --read-hold 0.01 --write-hold 0.002": ("read", "write"),
    "arrbench --seconds 0.1 --tails 0.1 --threads 3": ("read", "write"),
    "arrbench --seconds 0.1 --tails 0.1 --threads 3 --ranges full --reads 1": ("read",),
    "arrbench --seconds 0.1 --tails 0.1 --threads 3 --ranges disjoint --reads 0": ("write",),
    "manyheld --seconds 0.1 --tails 0.1 --threads 3 --held 100": ("read", "write"),
    "rangefile --seconds 0.1 --tails 0.1 --threads 3 --reads 0.5": ("read", "write"),
    "rangefile --seconds 0.1 --tails 0.1 --threads 3 --locks ranges --reads 0.5": ("read", "write"),
    "rangefile --seconds 0.1 --tails 0.1 --threads 3 --locks ranges --ranges disjoint --reads 1": ("read",),
    "skiplist --seconds 0.1 --tails 0.1 --threads 3 --keys 1000 --fill 500": ("find", "update"),
    "skiplist --seconds 0.1 --tails 0.1 --threads 3 --keys 40 --fill 20 --updates 1 --locks nodes": ("update",),
    "address_space --seconds 0.1 --tails 0.1 --threads 3 --workload wr": ("fault", "change"),
    "bonsai --seconds 0.1 --tails 0.1 --threads 3 --updates 0.5": ("find", "update"),
    "bonsai --seconds 0.1 --tails 0.1 --threads 3 --updates 0.5 --structure rotations --regions 50": ("find", "update"),
    "bonsai --seconds 0.1 --tails 0.1 --threads 3 --updates 0.5 --structure map": ("find", "update"),
    "bonsai --seconds 0.1 --tails 0.1 --threads 3 --updates 0.5 --structure ranges": ("find", "update"),
    "bonsai --seconds 0.1 --tails 0.1 --threads 3 --updates 0 --structure nodes": ("find",),
    "bonsai --seconds 0.1 --tails 0.1 --threads 3 --updates 0.5 --structure citrus": ("find", "update"),
    "bonsai --seconds 0.1 --tails 0.1 --threads 3 --updates 0.5 --structure path-memb": ("find", "update"),
    "bonsai --seconds 0.1 --tails 0.1 --threads 3 --updates 0.5 --structure path-qsbr": ("find", "update"),
    "bonsai --seconds 0.1 --tails 0.1 --threads 3 --updates 0.5 --structure plain-memb": ("find", "update"),
    "openssl_digest --seconds 0.1 --tails 0.1": ("digest",),
    "openssl_digest --seconds 0.1 --tails 0.1 --fetched": ("digest",),
    "openssl_handshakes --seconds 0.1 --tails 0.1 --threads 3": ("connection",),
    "kyoto --seconds 0.1 --tails 0.1 --records 2000 --mutation 40 --cursor 100": ("get", "change"),
    "kyoto --seconds 0.1 --tails 0.1 --records 2000 --mutation 40 --cursor 100 --db cache": ("get", "change"),
}


def test_each_runs() -> None:
    for line, kinds in PROGRAMS.items():
        for lock in LOCKS:
            try:
                sound(values(line, lock), kinds)
            except AssertionError as error:
                raise AssertionError(f"{line} under {lock or 'glibc'}: {error}") from None


DESIGNS = ("rwlock", "fault-lock", "hybrid-rcu", "pure-rcu", "tree-full", "tree-refined", "per-vma")
DESIGNS += ("list-full", "list-pf", "list-mprotect", "list-refined", "list-pages")
WORKLOADS = (
    "page_fault1",
    "page_fault2",
    "mmap1",
    "mmap2",
    "isolated --mapping 0.5",
    "isolated --mapping 0",
    "wc",
    "wr",
    "wrmem",
    "wrmem --memory segments",
    "malloc",
    "psearchy",
    "dedup",
)


def test_trees_of_one_shape() -> None:
    """The tree that is written on liburcu alone is the Bonsai tree's shape: as high, for the same keys."""
    line = "bonsai --seconds 0.02 --tails 0 --threads 1 --updates 0 --regions 5000 --structure"
    heights = {
        s: values(f"{line} {s}")["height"] for s in ("path", "rotations", "path-memb", "plain-memb", "plain-qsbr")
    }
    need(len(set(heights.values())) == 1 and heights["path"] > 12, f"{heights}")


def test_bonsai_garbage() -> None:
    """Full path copying leaves a path behind, rotations leave little; what waits for a sleeper is bounded, and goes."""
    garbage = {}
    for copies in ("path", "rotations"):
        for inserts in (1000, 16000):
            found = values(f"bonsai_garbage --copies {copies} --inserts {inserts}")
            need(found["inserts"] == inserts and found["height"] <= 2.41 * math.log2(inserts + 1), f"{found}")
            garbage[copies, inserts] = found["garbage"]
        found = values(f"bonsai_garbage --copies {copies} --inserts 1000 --sleep 0.05 --updates 2000")
        need(0 < found["waiting"] <= 2000 * 2 * found["height"] and found["after"] == 0, f"{copies}: {found}")
    need(garbage["path", 16000] > garbage["path", 1000] + 2, f"it grows with the height: {garbage}")
    need(abs(garbage["rotations", 16000] - garbage["rotations", 1000]) < 0.3, f"it does not: {garbage}")


def test_address_space() -> None:
    """Each workload with each design, but without --full a quarter of the pairs: the program checks what it did."""
    line = "address_space --seconds 0.02 --tails 0 --mb 1 --threads 3"
    # Along the diagonal, so that every design and every workload is among them.
    pairs = [(w, d) for i, w in enumerate(WORKLOADS) for k, d in enumerate(DESIGNS) if FULL or (i + k) % 4 == 0]
    for workload, design in pairs:
        for lock in ("", "bravo-ba") if design == "rwlock" else ("",):
            try:
                found = values(f"{line} --workload {workload} --design {design}", lock)
                sound(found, ())
                need((found["reads"] > 0) == (not workload.startswith("mmap")), f"faults: {found}")
                need(found["writes"] > 0, f"no operation: {found}")
                used = [found[kind] for kind in ("user", "system", "idle")]
                need(0 < sum(used) < 1.6 and min(used) >= 0, f"processors' time: {found}")
            except AssertionError as error:
                raise AssertionError(f"{workload}, {design} under {lock or 'glibc'}: {error}") from None


def test_large_pages() -> None:
    """Pages of 2 MB: each workload, and each design; of what a region has whole, one access for 512 pages."""
    line = "address_space --seconds 0.02 --tails 0 --mb 8 --threads 3 --pages 2m"
    pairs = [(w, "pure-rcu") for w in WORKLOADS] + [("wrmem --memory segments", d) for d in DESIGNS]
    for workload, design in pairs:
        try:
            sound(values(f"{line} --workload {workload} --design {design}"), ())
        except AssertionError as error:
            raise AssertionError(f"{workload}, {design}: {error}") from None
    line = "address_space --seconds 0.1 --tails 0 --mb 8 --threads 1 --workload page_fault1 --pages"
    for pages, faults in (("4k", 2048), ("2m", 4)):
        found = values(f"{line} {pages}")
        rounds = found["writes"] / 2
        need(rounds > 2 and abs(found["reads"] / rounds - faults) <= faults / rounds, f"{pages}: {found}")
    for design in ("rwlock", "list-pages"):
        values(f"address_space --seconds 0.02 --tails 0 --pages 2m --design {design} --trace {apps}/traces/{TRACES[0]}")


def test_operations_that_lock_a_part() -> None:
    """How many of them do without the whole lock; the program itself compares what is structural with a replay."""
    line = "address_space --seconds 0.05 --tails 0 --threads 2 --workload malloc --design"
    for design in ("list-mprotect", "list-refined", "tree-refined"):
        found = values(f"{line} {design}")
        need(found["protects_share"] > 0.9 and "maps" not in found, f"{design}: {found}")
        # A heap's first part, and the last one of a heap that is full.
        ends = found["protects_structural_bottom"] + found["protects_structural_joined"]
        need(found["protects_structural_bottom"] > 0, f"{design}: {found}")
        need(ends == found["protects_structural"], f"{design}: {found}")
    # On a busy machine the thread that moves the break may hardly run.
    for seconds in ("0.05", "0.5", "5"):
        found = values(f"{line} list-pages".replace("--seconds 0.05", f"--seconds {seconds}"))
        if found["brks"] >= 20:
            break
    need(found["brks_share"] > 0.9 and found["protects_share"] > 0.9, f"{found}")
    need(found["discards_share"] == 1, f"no discard changes a region: {found}")
    need("protects" not in values(f"{line} list-full"), "list-full locks all")
    # A mapping that continues none is a region more.
    found = values("address_space --seconds 0.05 --tails 0 --threads 2 --workload mmap1 --design list-pages")
    need(found["maps_speculated"] == 0 and found["maps_structural"] == found["maps"] > 0, f"{found}")


TRACES = sorted(file.name for file in (apps / "traces").glob("*.vmtrace.gz"))
# Of the recorded calls of mprotect: those that no design can do without the whole lock, by where they are.
# docs/address-spaces.md has them, too.
STRUCTURAL = {
    "malloc": {"loaded": 7, "top": 13, "bottom": 7},
    "python": {"loaded": 4, "top": 0, "bottom": 7},
    "xz": {"loaded": 2, "top": 3, "bottom": 3},
}
PARTS = ("loaded", "top", "bottom", "joined", "other", "several")


def test_traces() -> None:
    """Each trace with each design, which checks itself; and which calls of mprotect fail to do with a part."""
    need({name.split(".")[0] for name in TRACES} == set(STRUCTURAL), f"{TRACES}")
    for trace in TRACES:
        for design in DESIGNS:
            for lock in ("", "bravo-ba") if design == "rwlock" else ("",):
                line = f"address_space --trace {apps}/traces/{trace} --seconds 0.02 --tails 0.02 --design {design}"
                found = values(line, lock)
                sound(found, ("fault", "change"))
                need(found["ops"] == found["rounds"] * found["replay_steps"], f"{trace}, {design}: {found}")
                if design in ("list-mprotect", "list-refined", "tree-refined", "list-pages"):
                    wanted = STRUCTURAL[trace.split(".")[0]]
                    all_of_them = found["rounds"] * sum(wanted.values())
                    need(found["protects_structural"] == all_of_them, f"{trace}, {design}: {found}")
                    for part in PARTS:
                        count = found[f"protects_structural_{part}"]
                        need(count == found["rounds"] * wanted.get(part, 0), f"{trace}, {design}, {part}: {found}")


# The classes of locks that each design has; all have those of page tables.
CLASSES = {
    "rwlock": {"space_read", "space_write"},
    "fault-lock": {"space_read", "space_write", "change"},
    "hybrid-rcu": {"space_write", "index_read", "index_write"},
    "pure-rcu": {"space_write"},
    "per-vma": {"space_write"},
}
RANGES = {"range_read", "range_write"}


def test_waits_of_each_class_of_locks() -> None:
    """Faults that go back to the lock for all, in the designs where most take none, may be missing."""
    for design in DESIGNS:
        for what in ("--workload malloc", f"--trace {apps}/traces/malloc.vmtrace.gz"):
            line = f"address_space --seconds 0.02 --tails 0 --waits 0.05 --design {design} {what}"
            found = values(line)
            there = {name.removeprefix("waits_") for name in found if name.startswith("waits_")}
            wanted = CLASSES.get(design, RANGES) | {"table"}
            need(wanted <= there <= wanted | {"space_read"} - (RANGES & wanted), f"{line}: {there}")
            for name in there:
                need(found[f"waits_{name}"] > 0, f"{line}: {name}")
                need(0 < found[f"wait_{name}_ns"] <= found[f"wait_{name}_max_ns"], f"{line}: {name}: {found}")
                need(0 <= found[f"wait_{name}_share"] <= 1, f"{line}: {name}: {found}")
    need(not any("wait" in name for name in values("address_space --seconds 0.02 --tails 0")), "without --waits")


def test_traces_that_cannot_be_read() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bad"
        file.write_text("lockswap-vm-trace 1\nthreads 1\nheap 1\n\nmap 0 1 1 rw\n")
        packed = Path(folder) / "bad.gz"
        packed.write_text("not packed")
        for name, why in (
            (file, f"{file}:5: 'rw' is no protection, such as 'rw-'"),
            (packed, f"{packed}: gzip cannot unpack it"),
            (Path(folder), f"{folder}: Is a directory"),
            (Path(folder) / "none", f"{folder}/none: No such file or directory"),
        ):
            done = run(f"address_space --trace {name}")
            need(done.returncode == 2 and done.stdout == "", f"{done}")
            need(done.stderr == f"address_space: {why}\n", f"{done}")


def test_the_share_of_mapping() -> None:
    line = "address_space --seconds 0.2 --tails 0 --threads 2 --workload isolated --mb 1 --mapping"
    need("mapping" not in values(f"{line} 0"), "nothing is mapped")
    need(values(f"{line} 1")["mapping"] > 0.5, "nothing else is done")


def test_address_space_takes_the_lock_that_is_preloaded() -> None:
    for cache in ("", " --mmap-cache"):
        line = f"address_space --seconds 0.05 --tails 0 --mb 1 --workload page_fault1 --design rwlock{cache}"
        with tempfile.TemporaryDirectory() as folder:
            found = values(line, "bravo-ba", Path(folder) / "stats")
            totals = counted(Path(folder))
        need(totals["writes"] == found["writes"], f"an operation writes: {totals}, {found}")
        # The check at the end reads what is mapped then.
        need(found["reads"] <= totals["reads"] <= found["reads"] + 2 * 256, f"a fault reads: {totals}, {found}")


def test_address_space_on_a_lock_of_the_registry() -> None:
    line = "address_space --seconds 0.05 --tails 0 --mb 1 --workload page_fault1 --design"
    for design in ("rwlock:bravo-ba", "rwlock:eventual"):
        with tempfile.TemporaryDirectory() as folder:
            found = values(f"{line} {design}", stats=Path(folder) / "stats")
            writes = counted(Path(folder))["writes"]
            need(writes == found["writes"], f"{design} is not the lock that was named: {writes} writes, {found}")
    wrong = run(f"{line} rwlock:none")
    need(wrong.returncode == 2 and "none" in wrong.stderr and wrong.stdout == "", f"{wrong}")
    twice = run(f"{line} rwlock:ba", "ba")
    need(twice.returncode == 2 and "chosen already" in twice.stderr, f"{twice}")


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


RANGE_LOCKS = ("list-ex", "list-rw", "sharded-rw", "lustre-ex", "kernel-rw", "pnova-rw", "rwlock", "rwlock:ba")


def test_each_range_lock() -> None:
    for lock in RANGE_LOCKS:
        for line, kinds in (
            ("arrbench --seconds 0.05 --tails 0.05 --threads 3 --reads 0.6", ("read", "write")),
            ("arrbench --seconds 0.05 --tails 0.05 --threads 3 --reads 0.6 --ranges full", ("read", "write")),
            ("arrbench --seconds 0.05 --tails 0.05 --threads 3 --reads 0.6 --ranges disjoint", ("read", "write")),
            ("skiplist --seconds 0.05 --tails 0.05 --threads 3 --keys 40 --fill 20", ("find", "update")),
            ("rangefile --seconds 0.05 --tails 0.05 --threads 3 --reads 0.4 --blocks 20", ("read", "write")),
        ):
            try:
                sound(values(line, range_lock=lock), kinds)
            except AssertionError as error:
                raise AssertionError(f"{line} under {lock}: {error}") from None


def test_many_held_ranges() -> None:
    for lock in ("list-rw", "sharded-rw", "kernel-rw"):
        for offset in (0, 2048):
            line = f"manyheld --seconds 0.05 --tails 0.05 --threads 3 --held 40 --offset {offset}"
            sound(values(line, range_lock=lock), ("read", "write"))


def test_a_file_without_locks_is_seen_to_break() -> None:
    line = "rangefile --seconds 0.3 --tails 0 --threads 4 --blocks 1 --reads 0.2 --locks none"
    for _ in range(20):
        done = run(line)
        if done.returncode != 0:
            need(done.returncode == 1 and "wrong result" in done.stderr, f"status {done.returncode}: {done.stderr}")
            return
    raise AssertionError("no torn block and no lost version in 20 runs")


def test_a_range_needs_less_than_locks_in_nodes() -> None:
    # Without updates both have the same keys, each at the same height.
    line = "skiplist --seconds 0.02 --tails 0 --keys 4000 --fill 2000 --updates 0 --locks"
    nodes, ranges = (values(f"{line} {locks}")["node_bytes"] for locks in ("nodes", "ranges"))
    need(nodes - ranges == 8, f"{nodes} bytes a node with a lock, {ranges} without")


# Sets of rlubench, as they are in the names of its figures.
STRUCTURES = {
    "list": ("rlu", "rlu_deferred", "rcu_memb_call", "rcu_bp_sync", "harris_leaky", "harris_hazard", "rwlock"),
    "hash": ("rlu", "rlu_deferred", "rcu_qsbr_call", "rcu_qsbr_sync", "harris_hazard", "rculfhash", "rwlock"),
    "double": ("rlu", "rlu_deferred", "rwlock"),
    "resizable": ("rlu", "rlu_deferred", "triplett", "rculfhash"),
    "citrus": ("rlu", "rlu_deferred", "rcu_memb", "rcu_qsbr", "rwlock"),
}


def rlubench_is_there() -> bool:
    if (apps / "rlubench").exists():
        return True
    print("        rlubench is not built: there is no liburcu")
    return False


def test_rlubench() -> None:
    if not rlubench_is_there():
        return
    for structure, sets in STRUCTURES.items():
        line = f"rlubench --structure {structure} --items 200 --buckets 64 --seconds 0.03 --threads 3 --updates 0.4"
        resized = " --resized 128" if structure == "resizable" else ""
        for lock in ("", "ba"):
            found = values(line + resized, lock)
            for name in sets:
                need(found[f"{name}_ops_cpu"] > 0 and found[f"{name}_ops_s"] > 0, f"{name} did nothing: {found}")
                need(not resized or found[f"{name}_resizes_s"] > 0, f"{name} was not resized: {found}")
                need(name == "rlu" or found[f"rlu_to_{name}"] > 0, f"no ratio to {name}: {found}")
            need(found["rlu_syncs"] >= found["rlu_commits"] > 0, f"without deferral each commit takes effect: {found}")
            # A resize flushes, and a table this small is resized more often than it is changed.
            need(bool(resized) or found["rlu_deferred_sync_ratio"] < 0.9, f"nothing was deferred: {found}")


def test_the_intervals_of_rlubench() -> None:
    if not rlubench_is_there():
        return
    line = "rlubench --with rlu,rwlock --items 20 --seconds 0.01 --rounds"
    for rounds, has_interval in ((5, False), (6, True), (13, True)):
        found = values(f"{line} {rounds}")
        need(("rlu_to_rwlock_low" in found) == has_interval, f"{rounds} rounds: {found}")
        if has_interval:
            low, middle, high = (found["rlu_to_rwlock" + end] for end in ("_low", "", "_high"))
            need(low <= middle <= high, f"{rounds} rounds: {found}")


REVERSE_MAPS = ("pldu", "gldu", "stamped", "paper", "rwlock", "mutex", "rcu", "harris", "harris_unordered")


def test_ldubench() -> None:
    if not rlubench_is_there():
        return
    trace = f" --trace {apps}/traces/build.proctrace.gz"
    for mix in (
        "aim7",
        "exim",
        "lmbench",
        "trace" + trace,
        "exim --memory",
        "trace --memory" + trace,
        "pair",
        "batch --objects 50",
    ):
        for lock in ("", "ba"):
            found = values(f"ldubench --mix {mix} --seconds 0.02 --threads 3 --reads 0.05 --waits", lock)
            for name in REVERSE_MAPS:
                need(found[f"{name}_ops_cpu"] > 0 and found[f"{name}_ops_s"] > 0, f"{name} did nothing: {found}")
                need(name == "pldu" or found[f"pldu_to_{name}"] > 0, f"no ratio to {name}: {found}")
                times = [found[f"{name}_{kind}"] for kind in ("user", "system", "idle")]
                need(0 < sum(times) < 1.6 and min(times) >= 0, f"{name}: processors' time: {found}")
                for kind in ("file", "anonymous"):
                    need(0 <= found[f"{name}_wait_{kind}"] <= 1, f"{name}: time in waits: {found}")
            # What lives for a moment is mostly taken back before anybody looks.
            if mix == "exim":
                need(found["pldu_absorbed"] > 0.3, f"nothing was absorbed: {found}")
                need(found["gldu_absorbed"] > 0.3, f"nothing was absorbed in a log of its own: {found}")
    found = values("ldubench --mix exim --threads 3 --beside-threads 1 --rounds 6 --seconds 0.01 --with pldu,mutex")
    for name in ("pldu_to_fewer", "pldu_to_fewer_cpu", "mutex_to_fewer", "pldu_to_mutex", "pldu_to_mutex_by_clock"):
        low, high = found[f"{name}_low"], found[f"{name}_high"]
        need(0 < low <= found[name] <= high, f"{name}: no interval: {found}")
    late = values("ldubench --late")
    inserts = values("ldubench --inserts")
    for name in ("pldu", "gldu"):
        few, many = late[f"{name}_late_1000_us"], late[f"{name}_late_100000_us"]
        need(many > 10 * few > 0, f"a look at more updates takes longer: {late}")
        need(late[f"{name}_late_1000_absorbed_us_high"] > 0, f"no interval: {late}")
        need(inserts[f"{name}_inserts_1000_to_mutex_low"] > 0, f"no ratio: {inserts}")


def test_rlucache() -> None:
    databases = ("rlu", "rwlock_exclusive", "rwlock_shared", "kyoto")
    for lru in ("off", "on"):
        line = f"rlucache --with all --records 2000 --seconds 0.03 --threads 3 --mutation 0.1 --lru {lru}"
        for lock in ("", "ba"):
            found = values(line, lock)
            for name in databases:
                need(found[f"{name}_ops_cpu"] > 0, f"{name} did nothing: {found}")
                need(0.55 < found[f"{name}_found"] < 0.78, f"{name}: two keys of three are there: {found}")
                need(name == "rlu" or found[f"rlu_to_{name}"] > 0, f"no ratio to {name}: {found}")


def test_the_library_counts_the_same_acquisitions() -> None:
    """The acquisitions that a program reports are those that reached the lock."""
    warm_up = {"interference --seconds 0.1 --tails 0 --threads 3 --locks 50": 3 * 50 * 32}
    for line in (
        "pairs --seconds 0.1 --tails 0 --threads 3",
        "pairs --seconds 0.1 --tails 0 --threads 3 --writes 0.25",
        "alternator --seconds 0.1 --tails 0 --threads 3",
        *warm_up,
        "rwbench --seconds 0.1 --tails 0 --writes 0.1",
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
    found = values("pairs --seconds 0.1 --tails 0 --threads 2 --writes 0.3")
    need(abs(found["writes"] - found["ops"] * 0.3) <= 2, f"not 3 in 10: {found}")
    found = values("rwbench --seconds 0.3 --tails 0 --threads 2 --writes 0.3")
    spread = (found["ops"] * 0.3 * 0.7) ** 0.5
    need(abs(found["writes"] - found["ops"] * 0.3) <= 6 * spread, f"not 3 in 10: {found}")


def test_locks_inside_libraries() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = values("openssl_digest --seconds 0.1 --tails 0", "bravo-ba", Path(folder) / "stats")
        need(counted(Path(folder))["reads"] >= found["ops"], "less than a read lock a digest; 3.0 takes 8, 3.5 one")
    with tempfile.TemporaryDirectory() as folder:
        found = values("openssl_digest --seconds 0.1 --tails 0 --fetched", "bravo-ba", Path(folder) / "stats")
        need(counted(Path(folder))["reads"] < found["ops"], "a fetched algorithm still takes locks")
    with tempfile.TemporaryDirectory() as folder:
        found = values("openssl_handshakes --seconds 0.1 --tails 0", "bravo-ba", Path(folder) / "stats")
        need(counted(Path(folder))["reads"] >= 100 * found["ops"], "fewer than 100 read locks a connection")
    line = "kyoto --seconds 0.1 --tails 0 --records 1000 --mutation 50 --db"
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
    wrong = {
        "pairs --threads 0": "--threads",
        "pairs --threads 2.5": "--threads",
        "pairs --threads": "--threads",
        "pairs --writes 1.5": "--writes",
        "pairs --writes nan": "--writes",
        "pairs --seconds abc": "--seconds",
        "pairs --seconds -1": "--seconds",
        "pairs --sceonds 1": "--sceonds",
        "pairs 3": "3",
        "address_space --design stock": "pure-rcu",
        "address_space --workload mmap3": "mmap2",
        "address_space --mb 0": "--mb",
        "address_space --mapping 2": "--mapping",
        "address_space --workload isolated --threads 1": "at least 2",
        "address_space --design pure-rcu --mmap-cache": "--mmap-cache",
        "alternator --tails 1e9": "--tails",
        "interference --slots 100": "--slots",
        "interference --table other": "shared",
        "rwbench --writes x": "--writes",
        "locktorture --readers 0 --writers 0": "--readers",
        "openssl_digest --bytes -1": "--bytes",
        "arrbench --ranges some": "disjoint",
        "arrbench --ranges disjoint --threads 257": "256",
        "skiplist --keys 100 --fill 90": "--fill",
        "rangefile --blocks 2 --threads 3 --ranges disjoint": "--blocks",
        "skiplist --locks one": "ranges",
        "manyheld --offset 4096": "--offset",
        "kyoto --db stash": "protohash",
        "kyoto --mutation 100 --cursor 1": "--mutation",
        "rlucache --with rlu,cache": "rwlock-shared",
        "rlucache --with rlu,rlu": "twice",
        "rlucache --mutation 2": "--mutation",
        "rlucache --lru yes": "off",
        **(
            {
                "rlubench --with rlu,rlo": "rlo",
                "rlubench --with rlu,rlu": "twice",
                "rlubench --structure tree": "citrus",
                "rlubench --structure resizable --buckets 3": "powers",
                "rlubench --resized 4": "resizable",
                "rlubench --deferral 0": "--deferral",
                "ldubench --with pldu,ldu": "harris-unordered",
                "ldubench --mix exec": "lmbench",
                "ldubench --mix trace": "--trace",
                f"ldubench --mix trace --trace {apps}/traces/grow.py": "lockswap-process-trace 1",
                "ldubench --reads 1": "--reads",
            }
            if rlubench_is_there()
            else {}
        ),
        "uncontended sideways": "usage",
        "pingpong 1": "usage",
    }
    for line, says in wrong.items():
        done = run(line)
        need(done.returncode == 2, f"{line}: status {done.returncode}")
        need(done.stdout == "", f"{line}: stdout is {done.stdout!r}")
        need(says in done.stderr and done.stderr.count("\n") == 1, f"{line}: stderr is {done.stderr!r}")


def test_help() -> None:
    for program in dict.fromkeys(line.split()[0] for line in PROGRAMS):
        done = run(f"{program} --help")
        need(done.returncode == 0 and done.stderr == "", f"{program}: status {done.returncode}, {done.stderr!r}")
        need("--seconds" in done.stdout and "1024" in done.stdout, f"{program}: {done.stdout!r}")


def main() -> int:
    failed = 0
    for name, test in [(n, f) for n, f in globals().items() if n.startswith("test_")]:
        try:
            test()
            print(f"ok      {name}")
        except Exception:
            failed += 1
            print(f"FAILED  {name}")
            traceback.print_exc()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
