"""`lockswap fuzz`: what is a hang and what isn't, and where it hangs."""

import json
from pathlib import Path

import pytest
from test_fuzz import compiled, lockswap

from lockswap.fuzz import watch
from lockswap.fuzz.watch import Task, Watch, Watching

# Each of them is right without fuzz.
HANGS = """
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t of_beat = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both;
static void *order(void *first) {
  pthread_mutex_t *other = first == &a ? &b : &a;
  pthread_mutex_lock(first);
  pthread_barrier_wait(&both);
  pthread_mutex_lock(other);  // the second one
  return 0;
}
static void *beat(void *x) {
  for (;; usleep(10000)) pthread_mutex_lock(&of_beat), pthread_mutex_unlock(&of_beat);
  return x;
}
static void *signals(void *x) {
  pthread_mutex_lock(&a);
  pthread_cond_signal(&c);  // before anybody waits
  pthread_mutex_unlock(&a);
  return x;
}
static void *alone(void *x) {
  pthread_mutex_lock(&a);
  pthread_cond_wait(&c, &a);
  return x;
}
int main(int argc, char **argv) {
  pthread_t t[3];
  pthread_barrier_init(&both, 0, 2);
  (void)argc;
  if (!getenv("LOCKSWAP_FUZZ")) return 0;
  if (strcmp(argv[1], "order") == 0) {
    pthread_create(&t[0], 0, beat, 0);
    pthread_create(&t[1], 0, order, &a);
    pthread_create(&t[2], 0, order, &b);
    pthread_join(t[1], 0);
  } else if (strcmp(argv[1], "ended") == 0) {
    pthread_create(&t[0], 0, alone, 0);
    pthread_exit(0);
  } else {
    pthread_create(&t[0], 0, signals, 0);
    pthread_join(t[0], 0);
    pthread_mutex_lock(&a);
    pthread_cond_wait(&c, &a);  // the lost one
  }
  return 0;
}
"""


@pytest.fixture(scope="module")
def hangs(tmp_path_factory) -> Path:
    return compiled(tmp_path_factory.mktemp("hangs") / "hangs", HANGS)


def line_of(mark: str) -> int:
    return next(n for n, line in enumerate(HANGS.splitlines(), 1) if mark in line)


def where_it_hangs(program: Path, which: str, seed: int) -> tuple[str, str]:
    done = lockswap("fuzz", "--json", "--seed", seed, "--runs", 1, "--again", 0, "--", program, which)
    assert done.returncode == 3, done.stderr
    found = json.loads(done.stdout)
    return found["failure"], found["where"]


def test_a_deadlock_is_seen_beside_a_thread_that_goes_on(hangs):
    failure, where = where_it_hangs(hangs, "order", 1)
    assert failure == "hang: a deadlock of 2 threads"
    at = line_of("the second one")
    assert "waits for mutex a, which thread" in where and "waits for mutex b, which thread" in where
    assert f"at order <stdin>:{at}" in where and f"taken at order <stdin>:{line_of('lock(first)')}" in where


def test_it_is_seen_that_nobody_can_wake_a_thread(hangs):
    failure, where = where_it_hangs(hangs, "lost", 1)
    assert failure == "hang: all threads wait, and nobody is left to wake them"
    assert f"for cond c:\n      at main <stdin>:{line_of('the lost one')}" in where.replace("\n    at", "\n      at")
    assert f"before the wait began, by thread {where.split('by thread ')[1].split()[0]} at signals" in where


def test_it_is_seen_after_the_end_of_the_first_thread(hangs):
    found = lockswap("fuzz", "--json", "--runs", 1, "--again", 1, "--", hangs, "ended")
    assert found.returncode == 3, found.stderr
    assert json.loads(found.stdout)["failure"] == "hang: all threads wait, and nobody is left to wake them"


RUNS, COMPUTES = Task(1, "R"), Task(1, "S")
WAITS, SLEEPS, READS = Task(1, "S", "futex"), Task(1, "S", "nanosleep", True), Task(1, "S")
# Threads, whether points pass, processor time per second, seconds of the undisturbed run, the limit if there is one;
# when it is called a hang.
CASES = {
    "computes": ([RUNS, WAITS], False, 1, 1, 300),
    "is starved": ([RUNS, WAITS], False, 0, 1, 300),
    "long": ([RUNS], False, 1, 30, 600),
    "locks": ([WAITS], True, 0.01, 1, 300),
    "computes elsewhere": ([COMPUTES], False, 0.5, 1, 300),
    "nobody is left": ([WAITS, WAITS], False, 0, 0.1, 2),
    "a shell waits": ([WAITS, Task(2, "S", "wait4")], False, 0, 0.1, 2),
    "a thread sleeps": ([WAITS, SLEEPS], False, 0, 0.1, 60),
    "a thread reads": ([WAITS, READS], False, 0, 0.1, 10),
    "a thread sleeps as long as ever": ([WAITS, SLEEPS], False, 0, 30, 180),
    "stopped": ([Task(1, "T")], False, 0, 1, 300),
    "computes up to the limit": ([RUNS, WAITS], False, 1, 1, 20, 20),
    "sleeps up to the limit": ([WAITS, SLEEPS], False, 0, 0.1, 200, 200),
    "nobody is left long before the limit": ([WAITS, WAITS], False, 0, 0.1, 200, 60),
}


@pytest.mark.parametrize("case", CASES)
def test_a_hang_is_judged_by_what_happens(case, monkeypatch, tmp_path):
    tasks, points, share, undisturbed, *limit, expected = CASES[case]
    now = 0.0
    monkeypatch.setattr(watch.time, "monotonic", lambda: now)
    monkeypatch.setattr(watch, "_tasks", lambda _: dict(enumerate(tasks)))
    monkeypatch.setattr(watch, "cpu_seconds", lambda _: share * now)
    monkeypatch.setattr(watch, "_read", lambda _: int(now * points).to_bytes(16, "little"))
    monkeypatch.setattr(Watch, "_states", lambda *_: [])
    seen = Watch(1, Watching(tmp_path, None, *(limit or [None]), undisturbed))
    while seen.look() is None:
        now += 0.5
    assert expected <= now <= expected + 1


def test_a_thread_that_wakes_up_for_nothing_gives_no_hope(monkeypatch, tmp_path):
    now = 0.0
    monkeypatch.setattr(watch.time, "monotonic", lambda: now)
    monkeypatch.setattr(
        watch, "_tasks", lambda _: {1: WAITS, 2: Task(1, "S", "nanosleep", True, switches=f"{now:.1f}")}
    )
    monkeypatch.setattr(watch, "cpu_seconds", lambda _: 0.001 * now)
    monkeypatch.setattr(watch, "_read", lambda _: b"")
    monkeypatch.setattr(Watch, "_states", lambda *_: [])
    seen = Watch(1, Watching(tmp_path, None, None, 0.1))
    while seen.look() is None:
        now += 0.5
    assert 10 <= now <= 11
