"""MariaDB under sysbench, and sysbench's own tests of threads."""

import re

from suite.case import case
from suite.stage import Stage


@case("sysbench-threads", packages=["sysbench"], acquisitions=0, mutexes=10_000)
def sysbench(stage: Stage) -> None:
    """sysbench's mutexes and threads, all its events"""
    # Few yields: on a busy machine each can cost a time slice.
    threads = ["threads", "--thread-yields=10", "--thread-locks=8", "--events=1000", "--time=0"]
    for test in (["mutex", "--mutex-num=16", "--mutex-locks=20000"], threads):
        output = stage.swapped("sysbench", test[0], *test[1:], "--threads=4", "run").stdout
        events = re.search(r"total number of events:\s+(\d+)", output)
        stage.need(events, "sysbench counted no events")
        stage.same(events[1])


@case(
    "mariadb-sysbench", packages=["sysbench"], unpacked=["mariadb-server", "mariadb-client"], acquisitions=30, limit=600
)
def mariadb(stage: Stage) -> None:
    """MariaDB with transactions of four clients, then its tables checked"""
    share, port = stage.data("usr/share/mysql"), stage.port()
    socket = stage.tmp / "s"
    common = [
        "--no-defaults", f"--datadir={stage.tmp}/data", f"--tmpdir={stage.tmp}",
        f"--lc-messages-dir={share}", f"--character-sets-dir={share}/charsets",
        "--innodb-log-file-size=16M", "--innodb-buffer-pool-size=64M", "--user=root",
        "--innodb-flush-log-at-trx-commit=0", "--skip-log-bin",
    ]  # fmt: skip
    (stage.tmp / "data/mysql").mkdir(parents=True)
    sql = "create database if not exists mysql;\nuse mysql;\n"
    for name in ("mysql_system_tables", "mysql_performance_tables", "mysql_system_tables_data", "fill_help_tables"):
        sql += (share / f"{name}.sql").read_text(errors="replace")
    stage.write("bootstrap.sql", sql + "create database sbtest;\n")
    start = [stage.program("mariadbd"), *common]
    stage.plain("sh", "-c", '"$@" --bootstrap --skip-grant-tables <bootstrap.sql', "sh", *start)
    load = [
        "sysbench", "oltp_read_write", "--db-driver=mysql", f"--mysql-socket={socket}", "--mysql-user=root",
        "--tables=2", "--table-size=2000", "--threads=4", "--events=400", "--time=0",
    ]  # fmt: skip
    with stage.server(*start, f"--socket={socket}", f"--port={port}", "--bind-address=127.0.0.1", "--skip-grant-tables",
                      "--thread-handling=pool-of-threads", ready=socket):  # fmt: skip
        stage.plain(*load, "prepare")
        output = stage.plain(*load, "run").stdout
        query = ["mariadb", "--no-defaults", f"--socket={socket}", "-N", "sbtest", "-e"]
        # Records that are being purged while they are checked are a warning: first all of them.
        stage.plain(*query, "set global innodb_max_purge_lag_wait=0")
        stage.same(stage.plain(*query, "check table sbtest1, sbtest2 extended; select count(*) from sbtest1").stdout)
    done = re.search(r"transactions:\s+(\d+).*\n.*\n\s+ignored errors:\s+(\d+)", output)
    stage.need(done, "sysbench counted no transactions")
    stage.same(f"{done[1]} transactions")
