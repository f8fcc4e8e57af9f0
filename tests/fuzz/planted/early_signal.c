// A signal that comes before the wait is lost, since nothing else says that it was given: hang.
#include "planted.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_up = PTHREAD_COND_INITIALIZER;
static bool up = false;

static void* one(void* argument) {
  const bool is_server = number_of(argument) == 1;
  if (is_server) work(5000);
  must(pthread_mutex_lock(&m));
  if (is_server) {
    up = true;
    must(pthread_cond_signal(&is_up));
  } else {
    while (!is_right || !up) {
      must(pthread_cond_wait(&is_up, &m));
      if (!is_right) break;
    }
  }
  must(pthread_mutex_unlock(&m));
  return NULL;
}

void planted_early_signal(void) { run(2, one); }
