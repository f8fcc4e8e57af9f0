"""RocksDB's benchmark, which says how many of the keys it found."""

import re

from suite.case import case
from suite.stage import Stage


@case("db_bench", packages=["rocksdb-tools"], acquisitions=10_000, quick=True, waits=("park", "yield"))
def db_bench(stage: Stage) -> None:
    """Readers beside a writer that updates values in place, as in the BRAVO paper"""
    output = stage.swapped(
        "db_bench", f"--db={stage.tmp}/db", "--threads=3", "--benchmarks=fillseq,readwhilewriting", "--duration=1",
        "--num=5000", "--memtablerep=hash_linkedlist", "--prefix_size=8", "--keys_per_prefix=4",
        "--inplace_update_support=1", "--inplace_update_num_locks=1", "--allow_concurrent_memtable_write=0",
        "--stats_interval=10000000",
    )  # fmt: skip
    found = re.search(r"readwhilewriting\s*:.*ops/sec.*\((\d+) of (\d+) found\)", output.stdout + output.stderr)
    stage.need(found, "db_bench printed no result")
    stage.need(found[1] == found[2] != "0", f"db_bench found {found[1]} of {found[2]} keys")
