// A program whose threads are stopped by a signal, as a garbage collector does it: the handler
// waits in sigsuspend until the collector lets the thread go on. Some are stopped while they wait
// for a lock; its holder releases it; then another thread, the collector, wants it.
//
//   stopped KIND N SECONDS   N threads are stopped while they wait. KIND is what they and the
//                            collector want:
//                              mutex       a mutex
//                              write       an rwlock, to write; it was held for writing
//                              write-read  the same, but the collector wants to read
//
// Prints "went on" if the collector got the lock within SECONDS, else "stuck". Then the threads go
// on; status 0 if all of them got the lock in the end.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../expect.h"

enum { kMost = 16, kStop = SIGUSR1, kGoOn = SIGUSR2 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static const char* kind;
static atomic_int waiting, stopped, may_go_on, got_it, inside;

static void lock(void) {
  EXPECT(0,
         strcmp(kind, "mutex") == 0 ? pthread_mutex_lock(&mutex) : pthread_rwlock_wrlock(&rwlock));
  EXPECT(0, atomic_fetch_add(&inside, 1));
}
static void unlock(void) {
  EXPECT(1, atomic_fetch_sub(&inside, 1));
  EXPECT(0, strcmp(kind, "mutex") == 0 ? pthread_mutex_unlock(&mutex)
                                       : pthread_rwlock_unlock(&rwlock));
}

static void nap(void) {
  const struct timespec moment = {0, 1000 * 1000};
  nanosleep(&moment, NULL);
}

static void stop(int unused) {
  (void)unused;
  const int error = errno;
  sigset_t others;
  sigfillset(&others);
  sigdelset(&others, kGoOn);
  atomic_fetch_add(&stopped, 1);
  while (!atomic_load(&may_go_on))
    sigsuspend(&others);
  errno = error;
}
static void go_on(int unused) { (void)unused; }

static void* wait_for_it(void* unused) {
  atomic_fetch_add(&waiting, 1);
  lock();
  unlock();
  return unused;
}

static void* collect(void* unused) {
  if (strcmp(kind, "write-read") == 0) {
    EXPECT(0, pthread_rwlock_rdlock(&rwlock));
    EXPECT(0, atomic_load(&inside));
    atomic_store(&got_it, 1);
    EXPECT(0, pthread_rwlock_unlock(&rwlock));
  } else {
    lock();
    atomic_store(&got_it, 1);
    unlock();
  }
  return unused;
}

int main(int argc, char** argv) {
  const int n = argc == 4 ? atoi(argv[2]) : 0;
  if (n < 1 || n > kMost) {
    fprintf(stderr, "usage: stopped mutex|write|write-read N SECONDS\n");
    return 2;
  }
  kind = argv[1];
  struct sigaction handles = {.sa_handler = stop};
  sigfillset(&handles.sa_mask);
  sigdelset(&handles.sa_mask, kGoOn);
  EXPECT(0, sigaction(kStop, &handles, NULL));
  handles.sa_handler = go_on;
  EXPECT(0, sigaction(kGoOn, &handles, NULL));

  pthread_t threads[kMost], collector;
  lock();
  for (int i = 0; i < n; ++i) {
    EXPECT(0, pthread_create(&threads[i], NULL, wait_for_it, NULL));
    while (atomic_load(&waiting) != i + 1)
      nap();
    for (int naps = 0; naps < 50; ++naps)  // it is in the lock's function, and asleep
      nap();
    EXPECT(0, pthread_kill(threads[i], kStop));
    while (atomic_load(&stopped) != i + 1)
      nap();
  }
  unlock();
  EXPECT(0, pthread_create(&collector, NULL, collect, NULL));
  struct timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  do {
    nap();
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while (!atomic_load(&got_it) &&
           (double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) / 1e9 <
               atof(argv[3]));
  printf("%s\n", atomic_load(&got_it) ? "went on" : "stuck");
  fflush(stdout);
  atomic_store(&may_go_on, 1);
  // All of them first: the next turn need not be that of the one that came first.
  for (int i = 0; i < n; ++i)
    EXPECT(0, pthread_kill(threads[i], kGoOn));
  for (int i = 0; i < n; ++i)
    EXPECT(0, pthread_join(threads[i], NULL));
  EXPECT(0, pthread_join(collector, NULL));
  return 0;
}
