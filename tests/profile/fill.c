// More of everything than a profile has room for.
// Usage: profile_fill holds | stacks | classes | objects | pairs
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "waiter.h"

#define NOINLINE __attribute__((noinline, noclone))

static void nap(long us) {
  const struct timespec t = {us / 1000000, us % 1000000 * 1000};
  nanosleep(&t, NULL);
}

// `f` on a stack of its own for each number below 4^depth: four calls stand in each frame.
static NOINLINE void from(unsigned number, int depth, void (*f)(void)) {
  if (depth == 0) {
    f();
    return;
  }
  switch (number % 4) {
    case 0:
      from(number / 4, depth - 1, f);
      break;
    case 1:
      from(number / 4, depth - 1, f);
      break;
    case 2:
      from(number / 4, depth - 1, f);
      break;
    default:
      from(number / 4, depth - 1, f);
      break;
  }
  __asm__ volatile("");  // no tail call
}

// --- a thread that holds 80 locks

static void hold_many(void) {
  static pthread_mutex_t lock[80];
  for (int i = 0; i < 80; ++i)
    pthread_mutex_init(&lock[i], NULL);
  for (int i = 0; i < 80; ++i)
    pthread_mutex_lock(&lock[i]);
  for (int i = 80; i-- != 0;)
    pthread_mutex_unlock(&lock[i]);
}

// --- each lock first used on another stack

static void use_new(void) {
  pthread_mutex_t* const lock = malloc(sizeof *lock);
  pthread_mutex_init(lock, NULL);
  pthread_mutex_lock(lock);
  pthread_mutex_unlock(lock);
}

static void use_variables(void) {
  static pthread_mutex_t lock[5000];
  for (int i = 0; i < 5000; ++i) {
    pthread_mutex_lock(&lock[i]);
    pthread_mutex_unlock(&lock[i]);
  }
}

static void use_objects(void) {
  enum { kLocks = 150000 };
  pthread_mutex_t* const lock = calloc(kLocks, sizeof *lock);
  for (int i = 0; i < kLocks; ++i) {
    pthread_mutex_lock(&lock[i]);
    pthread_mutex_unlock(&lock[i]);
  }
}

// --- each wait with another pair of stacks

enum { kSites = 70 };
static pthread_mutex_t met = PTHREAD_MUTEX_INITIALIZER;
static atomic_int held, seen;

static void hold(void) {
  pthread_mutex_lock(&met);
  atomic_fetch_add(&held, 1);
  await_waiter();
  pthread_mutex_unlock(&met);
}
static void want(void) {
  pthread_mutex_lock(&met);
  pthread_mutex_unlock(&met);
}
static void* wanting(void* unused) {
  about_to_wait();
  for (int i = 0; i < kSites * kSites; ++i) {
    while (atomic_load(&held) <= i) {}  // without a sleep
    from((unsigned)(i % kSites), 4, want);
    atomic_fetch_add(&seen, 1);
  }
  return unused;
}
static void pairs(void) {
  pthread_t t;
  pthread_create(&t, NULL, wanting, NULL);
  for (int i = 0; i < kSites * kSites; ++i) {
    from((unsigned)(i / kSites), 4, hold);
    while (atomic_load(&seen) <= i)
      nap(10);
  }
  pthread_join(t, NULL);
}

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  if (strcmp(name, "holds") == 0) {
    hold_many();
  } else if (strcmp(name, "stacks") == 0) {
    for (unsigned i = 0; i < 16384; ++i)
      from(i, 7, use_new);
  } else if (strcmp(name, "classes") == 0) {
    use_variables();
  } else if (strcmp(name, "objects") == 0) {
    use_objects();
  } else if (strcmp(name, "pairs") == 0) {
    pairs();
  } else {
    fprintf(stderr, "what?\n");
    return 1;
  }
  return 0;
}
