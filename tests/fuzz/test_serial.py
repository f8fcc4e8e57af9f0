"""`lockswap fuzz --serial`: an order that a seed repeats, and the few turns that make it fail."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from measure import RACES, WRONG
from test_fuzz import LIBRARY, compiled, lockswap

from lockswap.fuzz import steps


def run(tmp_path: Path, command: list, settings: str) -> tuple[subprocess.CompletedProcess, steps.Log]:
    log = tmp_path / "steps"
    log.write_bytes(b"")
    os.truncate(log, steps.LOG_BYTES)
    env = os.environ | {"LD_PRELOAD": str(LIBRARY), "LOCKSWAP_FUZZ": f"{settings},serial,steps={log}"}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    return done, steps.read(log)


# Right, whatever the order is.
RIGHT = """
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER, never = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static int items, shared, late;
static void *put(void *unused) {
  for (int i = 0; i < 5; ++i) {
    pthread_mutex_lock(&m);
    ++items;
    if (i % 2) pthread_cond_signal(&c); else pthread_cond_broadcast(&c);
    pthread_mutex_unlock(&m);
    while (pthread_mutex_trylock(&n) != 0) {}
    pthread_mutex_unlock(&n);
  }
  return unused;
}
static void *get(void *unused) {
  for (int i = 0; i < 5; ++i) {
    pthread_mutex_lock(&m);
    while (items == 0) pthread_cond_wait(&c, &m);
    --items;
    pthread_mutex_unlock(&m);
    pthread_rwlock_wrlock(&l);
    ++shared;
    pthread_rwlock_unlock(&l);
    pthread_rwlock_rdlock(&l);
    pthread_rwlock_unlock(&l);
  }
  return unused;
}
static void release(void *lock) { pthread_mutex_unlock(lock); }
static void *is_cancelled(void *unused) {
  static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&own);
  pthread_cleanup_push(release, &own);
  for (;;) pthread_cond_wait(&never, &own);
  pthread_cleanup_pop(1);
  return unused;
}
static void *sleeps(void *unused) {
  pthread_mutex_lock(&m);
  pthread_mutex_unlock(&m);
  usleep(500000);
  return unused;
}
int main(int argc, char **argv) {
  pthread_t t[4];
  void *(*what)(void *) = argc > 1 && strcmp(argv[1], "sleeps") == 0 ? sleeps : 0;
  for (int i = 0; i < 4; ++i) pthread_create(&t[i], 0, what ? what : i % 2 ? get : put, 0);
  pthread_t other;
  pthread_create(&other, 0, is_cancelled, 0);
  pthread_cancel(other);
  pthread_join(other, 0);
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_nsec = at.tv_nsec / 2;
  pthread_mutex_lock(&n);
  late = pthread_cond_timedwait(&never, &n, &at);
  pthread_mutex_unlock(&n);
  for (int i = 0; i < 4; ++i) pthread_join(t[i], 0);
  printf("%d %d\\n", shared, late == ETIMEDOUT);
  return 0;
}
"""


@pytest.fixture(scope="module")
def right(tmp_path_factory) -> Path:
    return compiled(tmp_path_factory.mktemp("serial") / "right", RIGHT)


def test_a_seed_repeats_the_order(right, tmp_path):
    orders = []
    for seed in range(1, 8):
        logs = []
        for _ in range(2):
            done, log = run(tmp_path, [right], f"{seed},length=200")
            assert (done.returncode, done.stdout) == (0, "10 1\n"), done
            assert len(log.steps) > 80 and log.is_whole and not log.is_deadlock
            logs.append(log)
        # On a machine that is so busy that a thread lost its turn the log says so.
        if not any(log.by_time for log in logs):
            assert logs[0].order == logs[1].order, seed
            orders.append(str(logs[0].order))
    assert len(set(orders)) == len(orders) >= 2  # each seed has its own


def test_a_schedule_repeats_the_order_of_another_seed(right, tmp_path):
    for seed in range(11, 20):
        _, log = run(tmp_path, [right], f"{seed},length=200")
        schedule = tmp_path / "schedule"
        schedule.write_text(steps.as_schedule(log.turns))
        _, again = run(tmp_path, [right], f"0,schedule={schedule}")
        if not log.by_time and not again.by_time:
            assert log.turns and log.order == again.order
            return
    pytest.fail("threads lost their turns in each run")


def test_a_thread_that_sleeps_loses_its_turn_and_it_is_said(right, tmp_path):
    done, log = run(tmp_path, [right, "sleeps"], "1")
    assert (done.returncode, done.stdout) == (0, "0 1\n") and log.by_time >= 1


@pytest.mark.parametrize("race", ["order"])
def test_a_race_is_found_and_its_order_shown(race):
    words = ("--seed", 1, "--runs", 200, "--again", 3, "--same-output")
    done = lockswap("fuzz", "--json", "--serial", *words, "--", "sh", "-c", f"{RACES} {race}; exit $?")
    found = json.loads(done.stdout)
    assert done.returncode == 3 and found["failure"].startswith(WRONG[race]), found
    order = found["order"]
    if not order["by_time"]:
        assert found["again"] == order["fails_again"] == 3, found
    assert 1 <= len(order["schedule"]) <= order["turns"] <= 12
    text = "\n".join(order["steps"])
    assert "thread 1:" in text and "thread 2:" in text and f"at {race} races.c:" in text


def test_turns_that_make_no_difference_are_left_away():
    turns = [(1, n, 2) for n in range(100)]
    needed = {(1, 17, 2), (1, 80, 2)}
    runs = 0

    def fails(some: list) -> bool:
        nonlocal runs
        runs += 1
        return needed <= set(some)

    assert set(steps.shortened(turns, fails, 200)) == needed and runs <= 60
    assert needed <= set(steps.shortened(turns, fails, 3))


@pytest.mark.parametrize("value", ["1,serial,length=0", "1,serial,schedule=/no/such/file", "1,serial,steps="])
def test_a_wrong_variable_is_told_in_a_line(value, right):
    env = os.environ | {"LD_PRELOAD": str(LIBRARY), "LOCKSWAP_FUZZ": value}
    done = subprocess.run([right], env=env, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and done.stderr.startswith("lockswap")
