// A consumer is woken, but another takes the item first, and it doesn't look again: abort.
#include "planted.h"

enum { kPlaces = 4 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;
static int items = 0;

static void put(void) {
  must(pthread_mutex_lock(&m));
  while (items == kPlaces)
    must(pthread_cond_wait(&not_full, &m));
  ++items;
  must(pthread_cond_signal(&not_empty));
  must(pthread_mutex_unlock(&m));
}
static void take(void) {
  must(pthread_mutex_lock(&m));
  if (items == 0) must(pthread_cond_wait(&not_empty, &m));
  while (is_right && items == 0)
    must(pthread_cond_wait(&not_empty, &m));
  expect(items > 0);
  --items;
  must(pthread_cond_signal(&not_full));
  must(pthread_mutex_unlock(&m));
}

static void* one(void* argument) {
  const int i = number_of(argument);
  work(500 * i);
  for (int n = 0; n < (i == 0 ? 4 : 2); ++n)
    (i == 0 ? put : take)();
  return NULL;
}

void planted_if_for_while(void) { run(3, one); }
