/* A program that knows nothing of lockswap: readers look something up under a reader-writer lock, a
 * writer changes it, and a mutex protects what they count. Swap its locks from outside:
 *
 *     LD_PRELOAD=$PWD/build/liblockswap.so LOCKSWAP_RWLOCK=ba build/examples/preload
 *
 * With LOCKSWAP_STATS=1 besides it prints at exit how often each lock was taken. A policy swaps one
 * lock and leaves the others to glibc: see preload.policy. */
#include <pthread.h>
#include <stdio.h>

enum { READERS = 3, LOOK_UPS = 2000, CHANGES = 200 };

static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;
static long table[2]; /* always equal, outside of a change */
static long looked_up, mismatches;

static void* look_up(void* unused) {
  long different = 0;
  for (int i = 0; i < LOOK_UPS; ++i) {
    pthread_rwlock_rdlock(&table_lock);
    different += table[0] != table[1];
    pthread_rwlock_unlock(&table_lock);
  }
  pthread_mutex_lock(&count_lock);
  looked_up += LOOK_UPS;
  mismatches += different;
  pthread_mutex_unlock(&count_lock);
  return unused;
}

static void* change(void* unused) {
  for (int i = 0; i < CHANGES; ++i) {
    pthread_rwlock_wrlock(&table_lock);
    ++table[0];
    ++table[1];
    pthread_rwlock_unlock(&table_lock);
  }
  return unused;
}

int main(void) {
  pthread_t threads[READERS + 1];
  for (int i = 0; i <= READERS; ++i) {
    if (pthread_create(&threads[i], NULL, i < READERS ? look_up : change, NULL) != 0) return 1;
  }
  for (int i = 0; i <= READERS; ++i)
    pthread_join(threads[i], NULL);
  printf("%ld look-ups, %ld changes, %ld mismatches\n", looked_up, table[0], mismatches);
  return mismatches != 0;
}
