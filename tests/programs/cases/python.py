"""Python's threads and processes."""

import sys

from suite.case import WAITS, case
from suite.stage import Stage

WORK = """
import concurrent.futures, multiprocessing, queue, sqlite3, subprocess, sys, threading
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    print(sum(pool.map(lambda n: n * n, range(5000))))
print(subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True).stdout)
with multiprocessing.Pool(3) as pool:
    print(sum(pool.map(abs, range(-1000, 0))))
numbers, total = queue.Queue(10), []
def eat():
    while (n := numbers.get()) is not None:
        total.append(n)
eaters = [threading.Thread(target=eat) for _ in range(4)]
[t.start() for t in eaters]
for n in range(3000): numbers.put(n)
for t in eaters: numbers.put(None)
[t.join() for t in eaters]
print(sum(total))
base = sqlite3.connect(":memory:", check_same_thread=False)
base.execute("create table t (n integer)")
lock = threading.Lock()
def insert(me):
    for n in range(500):
        with lock: base.execute("insert into t values (?)", (n * me,))
writers = [threading.Thread(target=insert, args=(me,)) for me in range(4)]
[t.start() for t in writers]; [t.join() for t in writers]
print(base.execute("select count(*), sum(n) from t").fetchall())
short = [threading.Thread(target=int) for _ in range(500)]
for t in short: t.start()
for t in short: t.join()
print("done")
"""


@case("python3-threads", acquisitions=0, mutexes=6000, quick=True, waits=WAITS)
def threads(stage: Stage) -> None:
    """Pools of threads and of processes, queues, SQLite, short-lived threads"""
    stage.same(stage.swapped(sys.executable, "-c", WORK).stdout)


BASE = """
import sqlite3, threading
assert sqlite3.threadsafety == 3, "this SQLite has no mutexes"
# No cache of statements: Python 3.13 may give one statement to two threads at once, which then see wrong rows.
base = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None, cached_statements=0)
base.execute("create table t (thread integer, n integer)")
def insert(me):
    for n in range(1500):
        base.cursor().execute("insert into t values (?, ?)", (me, n))
        if n % 10 == 0:
            assert base.cursor().execute("select count(*) from t where thread = ?", (me,)).fetchone() == (n + 1,)
threads = [threading.Thread(target=insert, args=(me,)) for me in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print(base.execute("select thread, count(*), sum(n) from t group by thread").fetchall())
print(base.execute("pragma integrity_check").fetchall())
"""


@case("sqlite3-threads", acquisitions=0, mutexes=30_000, quick=True, waits=("park", "yield"))
def sqlite(stage: Stage) -> None:
    """Four threads on one connection: recursive mutexes, several for each statement"""
    stage.same(stage.swapped(sys.executable, "-c", BASE).stdout)
