"""RocksDB's benchmark, which says how many of the keys it found."""

import re

from suite.case import case
from suite.stage import Stage


@case("db_bench", packages=["rocksdb-tools"], acquisitions=10_000, mutexes=1000, quick=True, waits=("park", "yield"))
def db_bench(stage: Stage) -> None:
    """Readers beside a writer that updates values in place, as in the BRAVO paper"""
    output = stage.swapped(
        "db_bench", f"--db={stage.tmp}/db", "--threads=3", "--benchmarks=fillseq,readwhilewriting", "--reads=100000",
        "--num=5000", "--memtablerep=hash_linkedlist", "--prefix_size=8", "--keys_per_prefix=4",
        "--inplace_update_support=1", "--inplace_update_num_locks=1", "--allow_concurrent_memtable_write=0",
        "--stats_interval=10000000",
    )  # fmt: skip
    found = re.search(r"readwhilewriting\s*:.*ops/sec.*\((\d+) of (\d+) found\)", output.stdout + output.stderr)
    stage.need(found, "db_bench printed no result")
    stage.need(found[1] == found[2] != "0", f"db_bench found {found[1]} of {found[2]} keys")


@case("cache_bench", packages=["rocksdb-tools"], acquisitions=0, mutexes=5000, quick=True, waits=("park", "yield"))
def cache_bench(stage: Stage) -> None:
    """Lookups and inserts in a cache under one mutex; all operations are counted"""
    output = stage.swapped(
        "cache_bench", "-threads=4", "-ops_per_thread=5000", "-cache_size=1048576", "-value_bytes=512",
        "-num_shard_bits=0",
    ).stdout  # fmt: skip
    count = re.search(r"^Count: (\d+) ", output, re.MULTILINE)
    stage.need(count, "cache_bench timed no operations")
    stage.same(count[1])


@case("db_bench-fill", packages=["rocksdb-tools"], acquisitions=0, mutexes=2500, quick=True)
def fill(stage: Stage) -> None:
    """Four writers queue up, and the database has as many keys as it should"""
    common = [f"--db={stage.tmp}/db", "--num=3000", "--stats_interval=10000000"]
    stage.swapped("db_bench", *common, "--threads=4", "--benchmarks=fillrandom", "--seed=1")
    output = stage.swapped("db_bench", *common, "--use_existing_db=1", "--benchmarks=readseq")
    found = re.search(r"^readseq\s*:.* (\d+) operations", output.stdout + output.stderr, re.MULTILINE)
    stage.need(found, "db_bench did not read")
    # Each thread draws its keys by itself, so together they are the same ones in whatever order the threads run.
    stage.same(found[1])
