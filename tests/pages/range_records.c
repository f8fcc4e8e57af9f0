/* The first program of docs/range-locks.md: threads write records of a buffer, and look at those of
 * others. */
#include <lockswap/range_lock.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { RECORDS = 8, THREADS = 4, TIMES = 200 };

static lockswap_range_lock lock = LOCKSWAP_RANGE_LOCK_INITIALIZER;
static char buffer[RECORDS * 64]; /* a unit of the lock is a byte */
static const uint64_t size = 64;

static long write_record(uint64_t offset, char mark) {
  lockswap_range part;
  int error = lockswap_range_acquire(&lock, &part, offset, offset + size, LOCKSWAP_RANGE_EXCLUSIVE);
  if (error == 0) {
    memset(buffer + offset, mark, size);
    lockswap_range_release(&part);
  }
  return error != 0;
}

static long look_at(uint64_t offset) {
  lockswap_range part;
  long torn = 0;
  if (lockswap_range_acquire(&lock, &part, offset, offset + size, LOCKSWAP_RANGE_SHARED) != 0)
    return 1;
  for (uint64_t i = 1; i < size; ++i)
    torn += buffer[offset + i] != buffer[offset];
  lockswap_range_release(&part);
  return torn;
}

static void* work(void* number) {
  const int me = (int)(intptr_t)number;
  long wrong = 0;
  for (int i = 0; i < TIMES; ++i) {
    wrong += write_record((uint64_t)((me + i) % RECORDS) * size, (char)('a' + me));
    wrong += look_at((uint64_t)((me + 3 * i) % RECORDS) * size);
  }
  return (void*)(intptr_t)wrong;
}

int main(void) {
  pthread_t threads[THREADS];
  long torn = 0;
  for (int i = 0; i < THREADS; ++i) {
    if (pthread_create(&threads[i], NULL, work, (void*)(intptr_t)i) != 0) return 1;
  }
  for (int i = 0; i < THREADS; ++i) {
    void* wrong = NULL;
    pthread_join(threads[i], &wrong);
    torn += (long)(intptr_t)wrong;
  }
  printf("%d records, %ld torn\n", RECORDS, torn);
  return torn != 0;
}
