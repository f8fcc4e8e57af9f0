// Takes an exactly known number of locks in one thread, and prints "done". preload.py compares with
// LOCKSWAP_STATS; keep the two in step.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../expect.h"

static pthread_rwlock_t busy = PTHREAD_RWLOCK_INITIALIZER;   // 1000 reads
static pthread_rwlock_t quiet = PTHREAD_RWLOCK_INITIALIZER;  // 7 writes
static pthread_rwlock_t third = PTHREAD_RWLOCK_INITIALIZER;  // the failures

static void* hold_third(void* unused) {
  EXPECT(0, pthread_rwlock_rdlock(&third));
  return unused;  // and never releases: the main thread does
}

int main(void) {
  const struct timespec past = {1, 0};
  for (int i = 0; i < 1000; ++i) {
    EXPECT(0, pthread_rwlock_rdlock(&busy));
    EXPECT(0, pthread_rwlock_unlock(&busy));
  }
  EXPECT(0, pthread_rwlock_rdlock(&busy));
  for (int i = 0; i < 5; ++i)
    EXPECT(0, pthread_rwlock_rdlock(&busy));  // recursive
  for (int i = 0; i < 6; ++i)
    EXPECT(0, pthread_rwlock_unlock(&busy));
  for (int i = 0; i < 7; ++i) {
    EXPECT(0, pthread_rwlock_wrlock(&quiet));
    EXPECT(0, pthread_rwlock_unlock(&quiet));
  }
  pthread_t thread;
  EXPECT(0, pthread_create(&thread, NULL, hold_third, NULL));
  EXPECT(0, pthread_join(thread, NULL));
  for (int i = 0; i < 3; ++i)
    EXPECT(EBUSY, pthread_rwlock_trywrlock(&third));
  for (int i = 0; i < 2; ++i)
    EXPECT(ETIMEDOUT, pthread_rwlock_timedwrlock(&third, &past));
  EXPECT(0, pthread_rwlock_unlock(&third));  // a release of another thread's hold

  pthread_rwlock_t shared;
  pthread_rwlockattr_t attribute;
  EXPECT(0, pthread_rwlockattr_init(&attribute));
  EXPECT(0, pthread_rwlockattr_setpshared(&attribute, PTHREAD_PROCESS_SHARED));
  EXPECT(0, pthread_rwlock_init(&shared, &attribute));
  for (int i = 0; i < 4; ++i) {
    EXPECT(0, pthread_rwlock_rdlock(&shared));
    EXPECT(0, pthread_rwlock_unlock(&shared));
  }
  puts("done");
  return 0;
}
