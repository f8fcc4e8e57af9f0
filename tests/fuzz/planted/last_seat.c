// Eight threads look for a free seat in one section and take it in the next: abort.
#include "planted.h"

static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static int seats = 7;

static void* one(void* argument) {
  work(150 * number_of(argument));
  must(pthread_rwlock_rdlock(&l));
  const bool is_free = seats > 0;
  must(pthread_rwlock_unlock(&l));
  if (!is_free) return NULL;
  must(pthread_rwlock_wrlock(&l));
  if (!is_right || seats > 0) --seats;
  expect(seats >= 0);
  must(pthread_rwlock_unlock(&l));
  return NULL;
}

void planted_last_seat(void) { run(8, one); }
