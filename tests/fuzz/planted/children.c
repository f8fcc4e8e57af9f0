// A child that goes looks in a second section whether it was the last, and two see that: abort.
#include "planted.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int children = 4, releases = 0;

static void* one(void* argument) {
  work(300 * number_of(argument));
  must(pthread_mutex_lock(&m));
  bool is_last = --children == 0;
  must(pthread_mutex_unlock(&m));
  if (!is_right) {
    must(pthread_mutex_lock(&m));
    is_last = children == 0;
    must(pthread_mutex_unlock(&m));
  }
  if (!is_last) return NULL;
  must(pthread_mutex_lock(&m));
  expect(++releases == 1);
  must(pthread_mutex_unlock(&m));
  return NULL;
}

void planted_children(void) { run(4, one); }
