// A program whose threads are stopped by a signal, as a garbage collector does it: the handler
// waits in sigsuspend until the collector lets the thread go on. Some are stopped while they wait
// for a lock; its holder releases it; then another thread, the collector, wants it.
//
//   stopped KIND N LOOKS   N threads are stopped while they wait. KIND is what they and the
//                          collector want:
//                            mutex       a mutex
//                            write       an rwlock, to write; it was held for writing
//                            write-read  the same, but the collector wants to read
//
// Prints "went on" if the collector got the lock, "stuck" if it waits, and the main thread has then
// looked for that LOOKS times in vain, with a nap before each look. Where others have the
// processors these take as long as what the collector does. Then the threads go on; status 0 if all
// of them got the lock in the end.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../asleep.h"
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

// Waits until a thread that was about to take a lock waits for it: it sleeps, or has spun or
// yielded for a while. Or it is the collector, and got it.
static void await_wait(pthread_t thread) {
  enum { kSpunNs = 5000000, kLooks = 3 };
  int tid;
  while ((tid = atomic_exchange(&waiting, 0)) == 0)
    nap();
  const long long begin = cpu_ns_of(thread);
  for (int asleep = 0;
       asleep < kLooks && cpu_ns_of(thread) - begin < kSpunNs && !atomic_load(&got_it); nap())
    asleep = is_asleep(tid) ? asleep + 1 : 0;
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
  atomic_store(&waiting, gettid());
  lock();
  unlock();
  return unused;
}

static void* collect(void* unused) {
  atomic_store(&waiting, gettid());
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
  while (!atomic_load(&may_go_on))  // its clock is there until then
    nap();
  return unused;
}

int main(int argc, char** argv) {
  const int n = argc == 4 ? atoi(argv[2]) : 0;
  if (n < 1 || n > kMost) {
    fprintf(stderr, "usage: stopped mutex|write|write-read N LOOKS\n");
    return 2;
  }
  kind = argv[1];
  struct sigaction handles = {.sa_handler = stop};
  sigfillset(&handles.sa_mask);  // kGoOn, too, until sigsuspend lets it in
  EXPECT(0, sigaction(kStop, &handles, NULL));
  handles.sa_handler = go_on;
  EXPECT(0, sigaction(kGoOn, &handles, NULL));

  pthread_t threads[kMost], collector;
  lock();
  for (int i = 0; i < n; ++i) {
    EXPECT(0, pthread_create(&threads[i], NULL, wait_for_it, NULL));
    await_wait(threads[i]);
    EXPECT(0, pthread_kill(threads[i], kStop));
    while (atomic_load(&stopped) != i + 1)
      nap();
  }
  unlock();
  EXPECT(0, pthread_create(&collector, NULL, collect, NULL));
  await_wait(collector);
  for (int looks = atoi(argv[3]); looks > 0 && !atomic_load(&got_it); --looks)
    nap();
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
