// What a range lock without lists and trees does: a thread at a time in overlapping ranges, and no
// second range of the same thread in a segment.
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include "../expect.h"
#include "lockswap/range_lock.h"

enum { kThreads = 4, kSections = 5000 };

static lockswap_range_lock lock = LOCKSWAP_RANGE_LOCK_INITIALIZER;
static long sections;

static void* add(void* argument) {
  const uint64_t end = 1 + (uint64_t)(uintptr_t)argument;
  for (int i = 0; i < kSections; ++i) {
    lockswap_range r;
    EXPECT(0, lockswap_range_acquire(&lock, &r, 0, end, LOCKSWAP_RANGE_EXCLUSIVE));
    ++sections;
    EXPECT(0, lockswap_range_release(&r));
  }
  return NULL;
}

int main(void) {
  pthread_t threads[kThreads];
  for (uintptr_t i = 0; i < kThreads; ++i)
    EXPECT(0, pthread_create(&threads[i], NULL, add, (void*)i));
  for (int i = 0; i < kThreads; ++i)
    EXPECT(0, pthread_join(threads[i], NULL));
  lockswap_range one, other;
  EXPECT(0, lockswap_range_acquire(&lock, &one, 0, 1, LOCKSWAP_RANGE_EXCLUSIVE));
  EXPECT(EDEADLK, lockswap_range_acquire(&lock, &other, 1, 2, LOCKSWAP_RANGE_EXCLUSIVE));
  EXPECT(0, lockswap_range_release(&one));
  printf("%ld sections, a second range: EDEADLK\n", sections);
  return 0;
}
