// Its end and its deadline both give a request's slot back, since each looked before: abort.
#include "planted.h"

enum { kSlots = 3 };

static pthread_mutex_t of_slots = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t of_request[kSlots] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                             PTHREAD_MUTEX_INITIALIZER};
static bool is_over[kSlots];
static int free_slots = 0;

static bool end(int i, bool ends) {
  must(pthread_mutex_lock(&of_request[i]));
  const bool was_over = is_over[i];
  is_over[i] = was_over || ends;
  must(pthread_mutex_unlock(&of_request[i]));
  return !was_over;
}

static void* one(void* argument) {
  const int i = number_of(argument) % kSlots;
  work(200 * number_of(argument));
  if (!end(i, is_right)) return NULL;
  must(pthread_mutex_lock(&of_slots));
  expect(++free_slots <= kSlots);
  must(pthread_mutex_unlock(&of_slots));
  end(i, true);
  return NULL;
}

void planted_slots(void) { run(2 * kSlots, one); }
