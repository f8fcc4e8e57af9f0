"""redis reads and writes its sockets from threads; its rwlocks are OpenSSL's, taken when it starts."""

import re

from suite.case import case
from suite.stage import Stage


@case("redis", unpacked=["redis-server"], acquisitions=500, mutexes=900, quick=True)
def redis(stage: Stage) -> None:
    """Two threads of input and output under redis-benchmark; what it counted is read back"""
    port = stage.port()
    with stage.server(
        "redis-server", "--port", str(port), "--bind", "127.0.0.1", "--io-threads", "2", "--io-threads-do-reads", "yes",
        "--save", "", "--appendonly", "no", "--dir", stage.tmp, ready=f"tcp:{port}",
    ):  # fmt: skip
        # In batches: its threads spin for each other, and on a busy machine each exchange can take a time slice.
        load = ["redis-benchmark", "-h", "127.0.0.1", "-p", str(port), "-n", "10000", "-P", "50", "-c", "10", "-q"]
        stage.plain(*load, "-t", "set,incr,lpush,sadd")

        def ask(*words: str) -> str:
            return stage.plain("redis-cli", "-h", "127.0.0.1", "-p", str(port), *words).stdout

        stage.same(ask("GET", "counter:__rand_int__") + ask("LLEN", "mylist") + ask("DBSIZE"))
        threaded = re.search(r"io_threaded_reads_processed:([1-9]\d*)", ask("INFO", "stats"))
        stage.need(threaded, "redis read nothing from its threads")
