/* Range locks in C: threads move amounts between the accounts of an array. A transfer needs two
 * accounts, and excludes only transfers that need one of these; a sum needs all of them. */
#include <lockswap/range_lock.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { ACCOUNTS = 64, THREADS = 4, TRANSFERS = 1000, AT_FIRST = 100 };

static lockswap_range_lock lock = LOCKSWAP_RANGE_LOCK_INITIALIZER; /* a unit is an account */
static long balance[ACCOUNTS];

static void* transfer(void* seed) {
  unsigned random = (unsigned)(uintptr_t)seed;
  for (int i = 0; i < TRANSFERS; ++i) {
    random = random * 1103515245u + 12345u;
    const unsigned a = random >> 8 & (ACCOUNTS - 1), b = random >> 16 & (ACCOUNTS - 1);
    if (a == b) continue;
    const unsigned first = a < b ? a : b, second = a < b ? b : a;
    lockswap_range one, other;
    /* All threads acquire in one order, so none waits for another in a circle. */
    if (lockswap_range_acquire(&lock, &one, first, first + 1, LOCKSWAP_RANGE_EXCLUSIVE) != 0)
      return seed;
    if (lockswap_range_acquire(&lock, &other, second, second + 1, LOCKSWAP_RANGE_EXCLUSIVE) != 0) {
      lockswap_range_release(&one); /* or else the others would wait for ever */
      return seed;
    }
    --balance[a];
    ++balance[b];
    lockswap_range_release(&other);
    lockswap_range_release(&one);
  }
  return NULL;
}

static long sum_of_all(void) {
  lockswap_range all;
  long sum = 0;
  if (lockswap_range_acquire_full(&lock, &all, LOCKSWAP_RANGE_SHARED) != 0) return -1;
  for (int i = 0; i < ACCOUNTS; ++i)
    sum += balance[i];
  lockswap_range_release(&all);
  return sum;
}

int main(void) {
  const long expected = (long)ACCOUNTS * AT_FIRST;
  pthread_t threads[THREADS];
  int wrong = 0;
  for (int i = 0; i < ACCOUNTS; ++i)
    balance[i] = AT_FIRST;
  for (int i = 0; i < THREADS; ++i) {
    if (pthread_create(&threads[i], NULL, transfer, (void*)(uintptr_t)(i + 1)) != 0) return 1;
  }
  for (int i = 0; i < 100; ++i)
    wrong += sum_of_all() != expected; /* while they run */
  for (int i = 0; i < THREADS; ++i) {
    void* failed = NULL;
    pthread_join(threads[i], &failed);
    wrong += failed != NULL;
  }
  printf("sum %ld, %d wrong\n", sum_of_all(), wrong);
  return wrong != 0 || sum_of_all() != expected;
}
