// Calls each function of reader-writer locks, mutexes and condition variables, and prints how often
// it has, as counting.cpp does.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void check(int result, int expected, const char* call) {
  if (result == expected) return;
  fprintf(stderr, "%s: %s instead of %s\n", call, strerror(result), strerror(expected));
  exit(1);
}

// `what` is "OBJECT ACT FORM".
#define CALL(n, what, expected, call) \
  do {                                \
    for (int i = 0; i < (n); ++i)     \
      check(call, expected, #call);   \
    printf(what ": %d\n", n);         \
  } while (0)

static pthread_rwlock_t l;
static pthread_mutex_t m;
static pthread_cond_t c;
static int is_signalled;

static void* signal_it(void* unused) {
  pthread_mutex_lock(&m);
  is_signalled = 1;
  pthread_cond_signal(&c);
  pthread_mutex_unlock(&m);
  return unused;
}

int main(void) {
  const clockid_t clock = CLOCK_MONOTONIC;
  const struct timespec past = {0, 0}, later = {4000000000, 0};

  CALL(1, "rwlock init plain", 0, pthread_rwlock_init(&l, NULL));
  CALL(2, "rwlock lock_shared plain", 0, pthread_rwlock_rdlock(&l));
  CALL(3, "rwlock lock_shared attempt", 0, pthread_rwlock_tryrdlock(&l));
  CALL(4, "rwlock lock_shared timed", 0, pthread_rwlock_timedrdlock(&l, &later));
  CALL(5, "rwlock lock_shared clock", 0, pthread_rwlock_clockrdlock(&l, clock, &later));
  CALL(6, "rwlock lock attempt", EBUSY, pthread_rwlock_trywrlock(&l));
  CALL(7, "rwlock lock timed", ETIMEDOUT, pthread_rwlock_timedwrlock(&l, &past));
  CALL(8, "rwlock lock clock", ETIMEDOUT, pthread_rwlock_clockwrlock(&l, clock, &past));
  for (int i = 0; i < 14; ++i)
    pthread_rwlock_unlock(&l);
  CALL(1, "rwlock lock plain", 0, pthread_rwlock_wrlock(&l));
  pthread_rwlock_unlock(&l);
  printf("rwlock unlock plain: 15\n");
  CALL(1, "rwlock destroy plain", 0, pthread_rwlock_destroy(&l));

  pthread_mutexattr_t recursive;
  pthread_mutexattr_init(&recursive);
  pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
  CALL(1, "mutex init plain", 0, pthread_mutex_init(&m, &recursive));
  CALL(3, "mutex lock attempt", 0, pthread_mutex_trylock(&m));
  CALL(4, "mutex lock timed", 0, pthread_mutex_timedlock(&m, &later));
  CALL(5, "mutex lock clock", 0, pthread_mutex_clocklock(&m, clock, &later));
  for (int i = 0; i < 11; ++i)
    pthread_mutex_unlock(&m);

  CALL(1, "cond init plain", 0, pthread_cond_init(&c, NULL));
  CALL(2, "cond wait timed", ETIMEDOUT, pthread_cond_timedwait(&c, &m, &past));
  CALL(3, "cond wait clock", ETIMEDOUT, pthread_cond_clockwait(&c, &m, clock, &past));
  CALL(4, "cond broadcast plain", 0, pthread_cond_broadcast(&c));
  pthread_t signaller;
  pthread_create(&signaller, NULL, signal_it, NULL);
  int waits = 0;
  for (; !is_signalled; ++waits)
    pthread_cond_wait(&c, &m);  // it may return for no reason
  pthread_join(signaller, NULL);
  pthread_mutex_unlock(&m);
  printf("cond wait plain: %d\ncond signal plain: 1\n", waits);
  printf("mutex lock plain: 1\nmutex unlock plain: 13\n");
  CALL(1, "cond destroy plain", 0, pthread_cond_destroy(&c));
  CALL(1, "mutex destroy plain", 0, pthread_mutex_destroy(&m));
  return 0;
}
