// Both sides of a queue wait for one condition variable, and a signal reaches the wrong side: hang.
#include "planted.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int items = 0;

// The queue has room for one.
static void change(int by) {
  must(pthread_mutex_lock(&m));
  while (items == (by > 0 ? 1 : 0))
    must(pthread_cond_wait(&changed, &m));
  items += by;
  must((is_right ? pthread_cond_broadcast : pthread_cond_signal)(&changed));
  must(pthread_mutex_unlock(&m));
}

static void* one(void* argument) {
  const int i = number_of(argument);
  work(700 * i);
  change(i % 2 == 0 ? 1 : -1);
  return NULL;
}

void planted_notify_one(void) { run(6, one); }
