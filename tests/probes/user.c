// A program whose locking is known. Usage: probes_user ROUNDS
//
// ROUNDS of each: a mutex that is locked, tried and locked with a deadline; an rwlock that is read
// and written; a condition variable that is signalled. Then one thread holds a mutex, and writes,
// for 20 ms and more, while another waits to lock it, to read and to write. Then it prints "done",
// and both threads are there until its input ends: a tracer looks up addresses late, and in a PID
// namespace bpftrace 0.23 does it by thread.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../asleep.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static atomic_int stage;

static void nap_ms(long ms) {
  const struct timespec t = {0, ms * 1000000};
  nanosleep(&t, NULL);
}
static atomic_int waiter, calls;  // its thread id; the stage whose call it is in
static pthread_t other;           // the waiter
static void reach(int s) { atomic_store(&stage, s); }
static void until(int s) {
  while (atomic_load(&stage) < s)
    nap_ms(1);
}

__attribute__((noinline)) static void waits_for_the_mutex(void) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}
__attribute__((noinline)) static void waits_to_read(void) {
  pthread_rwlock_rdlock(&rwlock);
  pthread_rwlock_unlock(&rwlock);
}
__attribute__((noinline)) static void waits_to_write(void) {
  pthread_rwlock_wrlock(&rwlock);
  pthread_rwlock_unlock(&rwlock);
}

// The holder's stages are odd. The waiter ends each of them when its call is over.
enum { kMutex = 1, kRead = 3, kWrite = 5, kWaited = 6, kOver = 7 };

static void* wait_thrice(void* unused) {
  void (*const wait[])(void) = {waits_for_the_mutex, waits_to_read, waits_to_write};
  atomic_store(&waiter, gettid());
  for (int i = 0, s = kMutex; s <= kWrite; ++i, s += 2) {
    until(s);
    atomic_store(&calls, s);
    wait[i]();
    reach(s + 1);
  }
  until(kOver);
  return unused;
}

// From when the other thread sleeps in its call, or has spun in it for so long that it won't.
static void keep_waiting(int s) {
  const long long spins_ns = 5000000;
  reach(s);
  while (atomic_load(&calls) < s)
    nap_ms(1);
  const long long began = cpu_ns_of(other);
  while (!is_asleep(atomic_load(&waiter)) && cpu_ns_of(other) - began < spins_ns)
    nap_ms(1);
  nap_ms(20);
}

__attribute__((noinline)) static void holds_long(void) {
  pthread_mutex_lock(&mutex);
  keep_waiting(kMutex);
  pthread_mutex_unlock(&mutex);
  until(kMutex + 1);
  for (int s = kRead; s <= kWrite; s += 2) {
    pthread_rwlock_wrlock(&rwlock);
    keep_waiting(s);
    pthread_rwlock_unlock(&rwlock);
    until(s + 1);
  }
}

int main(int n, char** args) {
  const long rounds = n > 1 ? atol(args[1]) : 1;
  struct timespec soon;
  clock_gettime(CLOCK_REALTIME, &soon);
  soon.tv_sec += 3600;
  for (long i = 0; i < rounds; ++i) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    (void)pthread_mutex_trylock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_mutex_timedlock(&mutex, &soon);
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
    pthread_rwlock_wrlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
    pthread_cond_signal(&cond);
  }
  if (pthread_create(&other, NULL, wait_thrice, NULL) != 0) return 1;
  holds_long();
  until(kWaited);
  puts("done");
  fflush(stdout);
  getchar();
  reach(kOver);
  pthread_join(other, NULL);
  return 0;
}
