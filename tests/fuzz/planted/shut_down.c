// A pool that is shut down wakes one of its idle threads, not all: hang, if two are idle.
#include "planted.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int tasks = 0;
static bool stops = false;

static void* one(void* argument) {
  if (number_of(argument) == 4) {
    must(pthread_mutex_lock(&m));
    tasks = 4;
    must(pthread_cond_broadcast(&changed));
    must(pthread_mutex_unlock(&m));
    must(pthread_mutex_lock(&m));
    stops = true;
    must((is_right ? pthread_cond_broadcast : pthread_cond_signal)(&changed));
    must(pthread_mutex_unlock(&m));
    return NULL;
  }
  work(1500);
  must(pthread_mutex_lock(&m));
  while (tasks > 0 || !stops) {
    if (tasks > 0) {
      --tasks;
      must(pthread_mutex_unlock(&m));
      work(5);
      must(pthread_mutex_lock(&m));
    } else {
      must(pthread_cond_wait(&changed, &m));
    }
  }
  must(pthread_mutex_unlock(&m));
  return NULL;
}

void planted_shut_down(void) { run(5, one); }
