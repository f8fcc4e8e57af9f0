#!/usr/bin/env python3
"""The programs of structures/apps: each runs, says what its head promises, and takes the locks that it counts.

    structures.py LIBRARY APPS [--full]

Without --full a sixth of the address space's workloads and designs is combined. Runs are short and nothing is asked
of speed. Exit status 1 if a test fails.
"""

import math
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[3] / "tests/apps"))

from programs import (
    FULL,
    apps,
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
    "skiplist --threads 3 --keys 1000 --fill 500": ("find", "update"),
    "skiplist --threads 3 --keys 40 --fill 20 --updates 1 --locks nodes": ("update",),
    "address_space --threads 3 --workload wr": ("fault", "change"),
    "bonsai --threads 3 --updates 0.5": ("find", "update"),
    "bonsai --threads 3 --updates 0.5 --structure rotations --regions 50": ("find", "update"),
    "bonsai --threads 3 --updates 0 --structure nodes": ("find",),
} | {
    f"bonsai --threads 3 --updates 0.5 --structure {structure}": ("find", "update")
    for structure in ("map", "map-mutex", "ranges", "citrus", "path-memb", "path-qsbr", "plain-memb")
}


LIST = Path(__file__).resolve().parents[2] / "src/variants/list.def"
VARIANTS = re.findall(r'^VARIANT\("([^"]+)"', LIST.read_text(encoding="utf-8"), re.MULTILINE)


def test_each_runs() -> None:
    each_runs(PROGRAMS)


def test_each_variant_keeps_threads_apart() -> None:
    need(len(VARIANTS) > 10, f"the list has {VARIANTS}")
    for lock in (*VARIANTS, "pthread"):
        start = f"variants --lock {lock} --slots 64 --seconds 0.02"
        for line, kinds in (
            ("--work pairs --tails 0.01 --threads 3 --writes 0.2 --inside 20 --least 5", ("read", "write")),
            ("--work interference --tails 0.01 --threads 3 --locks 200 --least 5", ("read",)),
            ("--work locktorture --read-hold 0.002 --write-hold 0.002", ("read", "write")),
        ):
            try:
                sound(values(f"{start} {line}"), kinds)
            except AssertionError as error:
                raise AssertionError(f"{start} {line}: {error}") from None


def test_variants_run_each_work() -> None:
    for work, kinds in (("rwbench", ("read", "write")), ("alternator", ("read",))):
        line = f"variants --lock bravo-2d --work {work} --seconds 0.05 --tails 0.05 --threads 2 --writes 0.3"
        sound(values(line), kinds)


def test_each_range_lock() -> None:
    each_range_lock(
        {
            "skiplist --threads 3 --keys 40 --fill 20": ("find", "update"),
        }
    )


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
    "stack",
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
    """Each workload with each design, but without --full a sixth of the pairs: the program checks what it did."""
    line = "address_space --seconds 0.02 --tails 0 --mb 1 --threads 3"
    # Along the diagonal, so that every design and every workload is among them.
    pairs = [(w, d) for i, w in enumerate(WORKLOADS) for k, d in enumerate(DESIGNS) if FULL or (i + k) % 6 == 0]
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
    """Pages of 2 MB: workloads that take them, and each design; of what a region has whole, an access for 512 pages."""
    line = "address_space --seconds 0.02 --tails 0 --mb 8 --threads 3 --pages 2m"
    pairs = [(w, "pure-rcu") for w in WORKLOADS if w != "stack"] + [("wrmem --memory segments", d) for d in DESIGNS]
    for workload, design in pairs:
        try:
            sound(values(f"{line} --workload {workload} --design {design}"), ())
        except AssertionError as error:
            raise AssertionError(f"{workload}, {design}: {error}") from None
    # A piece of work has at most 64 faults.
    line = "address_space --seconds 0.1 --tails 0 --mb 8 --threads 1 --workload page_fault1 --least 200 --pages"
    for pages, faults in (("4k", 2048), ("2m", 4)):
        found = values(f"{line} {pages}")
        rounds = found["writes"] / 2
        need(rounds > 2 and abs(found["reads"] / rounds - faults) <= faults / rounds, f"{pages}: {found}")
    for design in ("rwlock", "list-pages"):
        values(f"address_space --seconds 0.02 --tails 0 --pages 2m --design {design} --trace {apps}/traces/{TRACES[0]}")


def test_operations_that_lock_a_part() -> None:
    """How many of them do without the whole lock; the program itself compares what is structural with a replay."""
    # A piece of work takes 16 pages more: so each thread does enough for shares.
    line = "address_space --seconds 0.05 --tails 0 --threads 2 --workload malloc --least 100 --design"
    for design in ("list-mprotect", "list-refined", "tree-refined"):
        found = values(f"{line} {design}")
        need(found["protects_share"] > 0.9 and "maps" not in found, f"{design}: {found}")
        # A heap's first part, and the last one of a heap that is full.
        ends = found["protects_structural_bottom"] + found["protects_structural_joined"]
        need(found["protects_structural_bottom"] > 0, f"{design}: {found}")
        need(ends == found["protects_structural"], f"{design}: {found}")
    found = values(f"{line} list-pages")
    need(found["brks_share"] > 0.9 and found["protects_share"] > 0.9, f"{found}")
    need(found["discards_share"] == 1, f"no discard changes a region: {found}")
    need("protects" not in values(f"{line} list-full"), "list-full locks all")
    # A mapping that continues none is a region more.
    found = values("address_space --seconds 0.05 --tails 0 --threads 2 --workload mmap1 --design list-pages")
    need(found["maps_speculated"] == 0 and found["maps_structural"] == found["maps"] > 0, f"{found}")


TRACES = sorted(file.name for file in (apps / "traces").glob("*.vmtrace.gz"))
# How many recorded calls of mprotect need the whole lock under every design, by where they are.
# results/notes/2026-11-address-spaces.md has them, too.
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
            of_tree = {"tree"} if design.startswith("tree-") else set()
            wanted = CLASSES.get(design, RANGES) | {"table"} | of_tree
            need(wanted <= there <= wanted | {"space_read"} - (RANGES & wanted), f"{line}: {there}")
            if of_tree:  # each range takes the spin lock when it comes and when it goes
                ranges = found["waits_range_read"] + found["waits_range_write"]
                need(found["waits_tree"] >= 2 * ranges, f"{line}: {found}")
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


def test_a_range_needs_less_than_locks_in_nodes() -> None:
    # Without updates both have the same keys, each at the same height.
    line = "skiplist --seconds 0.02 --tails 0 --keys 4000 --fill 2000 --updates 0 --locks"
    nodes, ranges = (values(f"{line} {locks}")["node_bytes"] for locks in ("nodes", "ranges"))
    need(nodes - ranges == 8, f"{nodes} bytes a node with a lock, {ranges} without")


# Sets of rlubench, as they are in the names of its figures.
STRUCTURES = {
    "list": ("rlu", "rlu_deferred", "rcu_memb_call", "rcu_bp_sync", "harris_leaky", "harris_hazard", "rwlock", "mutex"),
    "hash": ("rlu", "rlu_deferred", "rcu_qsbr_call", "rcu_qsbr_sync", "harris_hazard", "rculfhash", "rwlock", "mutex"),
    "double": ("rlu", "rlu_deferred", "rcu_memb_call", "rcu_qsbr_call", "rwlock", "mutex"),
    "resizable": ("rlu", "rlu_deferred", "triplett", "rculfhash"),
    "citrus": ("rlu", "rlu_deferred", "rcu_memb", "rcu_qsbr", "rwlock", "mutex"),
}


def rlubench_is_there() -> bool:
    if (apps / "rlubench").exists():
        return True
    print("        rlubench is not built: there is no liburcu")
    return False


def apart(found: dict[str, float], name: str) -> None:
    """Reads and writes of a contestant are all that it did; each figure of one round is rounded."""
    for per in ("s", "cpu"):
        both = found[f"{name}_reads_{per}"] + found[f"{name}_writes_{per}"]
        need(abs(both - found[f"{name}_ops_{per}"]) <= 2, f"{name}: reads and writes per {per} are not all: {found}")


def test_rlubench() -> None:
    if not rlubench_is_there():
        return
    for structure, sets in STRUCTURES.items():
        line = f"rlubench --structure {structure} --items 200 --buckets 64 --updates 0.4"
        line += " --seconds 0.02 --threads 3 --least 10"
        resized = " --resized 128" if structure == "resizable" else ""
        for lock in ("", "ba") if FULL or structure in ("list", "citrus") else ("",):
            found = values(line + resized, lock)
            for name in sets:
                need(found[f"{name}_ops_cpu"] > 0 and found[f"{name}_ops_s"] > 0, f"{name} did nothing: {found}")
                apart(found, name)
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
        "aim7 --work 1 --crossover 2",
        "exim",
        "exim --work 1 --spool 2",
        "lmbench",
        "lmbench-exec",
        "lmbench-sh",
        "trace" + trace,
        "exim --memory",
        "trace --memory" + trace,
        "pair",
        "batch --objects 50",
    ):
        for lock in ("", "ba") if FULL or mix in ("exim", "pair") else ("",):
            found = values(f"ldubench --mix {mix} --seconds 0.01 --threads 3 --least 10 --reads 0.05 --waits", lock)
            for name in REVERSE_MAPS:
                need(found[f"{name}_ops_cpu"] > 0 and found[f"{name}_ops_s"] > 0, f"{name} did nothing: {found}")
                need(name == "pldu" or found[f"pldu_to_{name}"] > 0, f"no ratio to {name}: {found}")
                times = [found[f"{name}_{kind}"] for kind in ("user", "system", "idle")]
                need(0 < sum(times) < 1.6 and min(times) >= 0, f"{name}: processors' time: {found}")
                for kind in ("file", "anonymous", "spool"):
                    need(0 <= found[f"{name}_wait_{kind}"] <= 1, f"{name}: time in waits: {found}")
                need("--crossover" not in mix or found[f"{name}_users"] in (1, 2), f"{name}: users: {found}")
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
    databases = ("rlu", "rwlock_exclusive", "rwlock_shared", "mutex", "kyoto")
    for lru in ("off", "on"):
        # Each thread gets at least 720 keys, for the share of them that is there.
        line = f"rlucache --with all --records 2000 --seconds 0.03 --threads 3 --least 50 --mutation 0.1 --lru {lru}"
        for lock in ("", "ba"):
            found = values(line, lock)
            for name in databases:
                need(found[f"{name}_ops_cpu"] > 0, f"{name} did nothing: {found}")
                need(0.55 < found[f"{name}_found"] < 0.78, f"{name}: two keys of three are there: {found}")
                apart(found, name)
                need(name == "rlu" or found[f"rlu_to_{name}"] > 0, f"no ratio to {name}: {found}")


def test_bad_input() -> None:
    refused(
        {
            "address_space --design stock": "pure-rcu",
            "address_space --workload mmap3": "mmap2",
            "address_space --mb 0": "--mb",
            "address_space --mapping 2": "--mapping",
            "address_space --workload isolated --threads 1": "at least 2",
            "address_space --design pure-rcu --mmap-cache": "--mmap-cache",
            "skiplist --keys 100 --fill 90": "--fill",
            "skiplist --locks one": "ranges",
            "rlucache --with rlu,cache": "rwlock-shared",
            "rlucache --with rlu,rlu": "twice",
            "rlucache --mutation 2": "--mutation",
            "rlucache --lru yes": "off",
        }
    )
    if rlubench_is_there():
        refused(
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
                "ldubench --mix lmbench --work 1": "--work",
                "ldubench --spool 2": "--spool",
                "ldubench --mix exim --crossover 2": "--crossover",
            }
        )


def test_help() -> None:
    each_has_help(PROGRAMS)


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
