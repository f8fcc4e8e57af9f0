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


@case("python3-threads", acquisitions=0, quick=True, waits=WAITS)
def threads(stage: Stage) -> None:
    """Pools of threads and of processes, queues, SQLite, short-lived threads"""
    stage.same(stage.swapped(sys.executable, "-c", WORK).stdout)
