"""glib's GRWLock, which is a pthread rwlock, from Python's threads: ctypes lets other threads run meanwhile."""

import sys

from suite.case import WAITS, case
from suite.stage import Stage

WORK = """
import ctypes, threading
glib = ctypes.CDLL("libglib-2.0.so.0")
# A static GRWLock: a pointer and two numbers, all zero. glib makes the pthread rwlock at the first call.
lock = (ctypes.c_uint64 * 2)()
pair, wrong = [0, 0], []
def work(me):
    for i in range(4000):
        if i % 8 == me:
            if i % 3 == 0:
                while not glib.g_rw_lock_writer_trylock(lock): pass
            else:
                glib.g_rw_lock_writer_lock(lock)
            pair[0] += 1; pair[1] += 1
            glib.g_rw_lock_writer_unlock(lock)
        elif i % 5 or glib.g_rw_lock_reader_trylock(lock):
            if i % 5: glib.g_rw_lock_reader_lock(lock)
            if pair[0] != pair[1]: wrong.append(tuple(pair))
            glib.g_rw_lock_reader_unlock(lock)
threads = [threading.Thread(target=work, args=(me,)) for me in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
print(pair, wrong)
for _ in range(1000):
    own = (ctypes.c_uint64 * 2)(0xffffffffffffffff, 7)
    glib.g_rw_lock_init(own)
    glib.g_rw_lock_writer_lock(own); glib.g_rw_lock_writer_unlock(own)
    glib.g_rw_lock_clear(own)
"""


@case("glib-GRWLock", packages=["libglib2.0-0t64|libglib2.0-0"], acquisitions=10_000, quick=True, waits=WAITS)
def grwlock(stage: Stage) -> None:
    """Reads, writes, trials; a thousand locks made, used and cleared"""
    stage.same(stage.swapped(sys.executable, "-c", WORK).stdout)
