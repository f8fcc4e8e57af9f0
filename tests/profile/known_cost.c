// Programs of which it is known what longer holds of their locks cost.
//
//   path      two threads take turns at `critical`, and the program lasts as long as their holds;
//             two others fight for `busy` more than three times as often, and are done long before
//   readers   the same, of reader-writer locks: `critical` is written, `busy` mostly read
//   count     on a mutex 3 holds, on an rwlock that make_lock initialises 7 read and 5 written ones
//   where     a thread unlocks `critical` while another one sleeps in its call for it. Prints how
//             many us pass from the call of unlock until the other one has it: the least of five
//
// Usage: known_cost path|readers|count|where. The first two print "seconds: S".
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/resource.h>

#include "../asleep.h"

#define HOLDS 60
#define BUSY_HOLDS 200

static pthread_mutex_t critical = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t critical_rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t busy_rw = PTHREAD_RWLOCK_INITIALIZER;

static void sleep_us(long us) {
  const struct timespec t = {0, us * 1000};
  nanosleep(&t, NULL);
}

static void work(void) {
  for (volatile int i = 0; i < 100000; ++i) {}
}

static void* take_turns(void* unused) {
  for (int i = 0; i < HOLDS; ++i) {
    pthread_mutex_lock(&critical);
    sleep_us(1000);
    pthread_mutex_unlock(&critical);
  }
  return unused;
}

static void* be_busy(void* unused) {
  for (int i = 0; i < BUSY_HOLDS; ++i) {
    pthread_mutex_lock(&busy);
    work();
    pthread_mutex_unlock(&busy);
  }
  return unused;
}

static void* write_by_turns(void* unused) {
  for (int i = 0; i < HOLDS; ++i) {
    pthread_rwlock_wrlock(&critical_rw);
    sleep_us(1000);
    pthread_rwlock_unlock(&critical_rw);
  }
  return unused;
}

static void* read_busily(void* unused) {
  for (int i = 0; i < BUSY_HOLDS; ++i) {
    if (i % 10 == 0) {
      pthread_rwlock_wrlock(&busy_rw);
    } else {
      pthread_rwlock_rdlock(&busy_rw);
    }
    work();
    pthread_rwlock_unlock(&busy_rw);
  }
  return unused;
}

// Each pair on two processors, if there are two. A woken thread may else be put behind the thread
// that woke it, so that time behind a release keeps it waiting as time before it does.
static void keep_apart(pthread_t thread, int number) {
  cpu_set_t may, one;
  if (sched_getaffinity(0, sizeof may, &may) != 0 || CPU_COUNT(&may) < 2) return;
  int left = number % 2;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &may) || left-- > 0) continue;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_setaffinity_np(thread, sizeof one, &one);
    return;
  }
}

static void run(void* (*on_path)(void*), void* (*off_path)(void*)) {
  struct timespec begin, end;
  // Where that is allowed: with half of a processor for itself the busy pair, with delays, would
  // last as long as the other.
  setpriority(PRIO_PROCESS, 0, -15);
  clock_gettime(CLOCK_MONOTONIC, &begin);
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) {
    pthread_create(&threads[i], NULL, i < 2 ? on_path : off_path, NULL);
    keep_apart(threads[i], i);
  }
  for (int i = 0; i < 4; ++i)
    pthread_join(threads[i], NULL);
  clock_gettime(CLOCK_MONOTONIC, &end);
  printf("seconds: %.6f\n",
         (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
}

static __attribute__((noinline)) void make_lock(pthread_rwlock_t* l) {
  pthread_rwlock_init(l, NULL);
  __asm__ volatile("");  // so the call above is none that ends the function
}

static void count(void) {
  pthread_rwlock_t l;
  make_lock(&l);
  for (int i = 0; i < 3; ++i) {
    pthread_mutex_lock(&busy);
    pthread_mutex_unlock(&busy);
  }
  for (int i = 0; i < 7; ++i) {
    pthread_rwlock_rdlock(&l);
    pthread_rwlock_unlock(&l);
  }
  for (int i = 0; i < 5; ++i) {
    pthread_rwlock_wrlock(&l);
    pthread_rwlock_unlock(&l);
  }
  pthread_rwlock_destroy(&l);
}

// Two threads hand `critical` to each other. How often they did, and when unlock was called.
#define TURNS 3  // of each
static atomic_int tids[2];
static atomic_int handed_over;
static long unlocked_us, least_us = LONG_MAX;

static long now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void* hand_over(void* number) {
  atomic_int* const mine = &tids[number != NULL];
  atomic_int* const other = &tids[number == NULL];
  atomic_store(mine, gettid());
  for (int i = 0; i < TURNS; ++i) {
    pthread_mutex_lock(&critical);
    const long passed = now_us() - unlocked_us;
    const int turn = atomic_load(&handed_over) + 1;
    if (turn > 1 && passed < least_us) least_us = passed;
    atomic_store(&handed_over, turn);
    while (turn < 2 * TURNS && (atomic_load(other) == 0 || !is_asleep(atomic_load(other))))
      sleep_us(100);
    unlocked_us = now_us();
    pthread_mutex_unlock(&critical);
    while (turn < 2 * TURNS && atomic_load(&handed_over) == turn)
      sleep_us(100);
  }
  return NULL;
}

static void say_where(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, hand_over, NULL);
  pthread_create(&threads[1], NULL, hand_over, tids);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  printf("%ld\n", least_us);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "path") == 0) {
    run(take_turns, be_busy);
  } else if (strcmp(what, "readers") == 0) {
    run(write_by_turns, read_busily);
  } else if (strcmp(what, "count") == 0) {
    count();
  } else if (strcmp(what, "where") == 0) {
    say_where();
  } else {
    fprintf(stderr, "usage: known_cost path|readers|count|where\n");
    return 2;
  }
  return 0;
}
