// Threads say that they are done with a mutex just before they release it: abort (EBUSY).
#include "planted.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, of_done = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_done = PTHREAD_COND_INITIALIZER;
static int done = 0;

static void* one(void* argument) {
  if (number_of(argument) == 3) {
    must(pthread_mutex_lock(&of_done));
    while (done < 3)
      must(pthread_cond_wait(&all_done, &of_done));
    must(pthread_mutex_unlock(&of_done));
    must(pthread_mutex_destroy(&m));
    return NULL;
  }
  work(300 * (1 + number_of(argument)));
  must(pthread_mutex_lock(&m));
  work(5);
  if (is_right) must(pthread_mutex_unlock(&m));
  must(pthread_mutex_lock(&of_done));
  ++done;
  must(pthread_cond_signal(&all_done));
  must(pthread_mutex_unlock(&of_done));
  if (!is_right) must(pthread_mutex_unlock(&m));
  return NULL;
}

void planted_held(void) { run(4, one); }
