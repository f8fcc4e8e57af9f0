// A thread of a pool counts itself out before it uses the queue a last time: abort (EINVAL).
#include "planted.h"

enum { kWorkers = 5 };

static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER, of_count = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER, nobody = PTHREAD_COND_INITIALIZER;
static int tasks = 8, workers = kWorkers, exits = 0;

static void count_out(void) {
  must(pthread_mutex_lock(&of_count));
  if (--workers == 0) must(pthread_cond_signal(&nobody));
  must(pthread_mutex_unlock(&of_count));
}

static void* one(void* argument) {
  if (number_of(argument) == kWorkers) {
    must(pthread_mutex_lock(&of_count));
    while (workers > 0)
      must(pthread_cond_wait(&nobody, &of_count));
    must(pthread_mutex_unlock(&of_count));
    must(pthread_cond_destroy(&changed));
    must(pthread_mutex_destroy(&queue));
    return NULL;
  }
  work(200 * (1 + number_of(argument)));
  must(pthread_mutex_lock(&queue));
  while (tasks > 0) {
    --tasks;
    must(pthread_mutex_unlock(&queue));
    work(5);
    must(pthread_mutex_lock(&queue));
  }
  must(pthread_mutex_unlock(&queue));
  if (!is_right) count_out();
  must(pthread_mutex_lock(&queue));
  ++exits;
  must(pthread_mutex_unlock(&queue));
  if (is_right) count_out();
  return NULL;
}

void planted_pool(void) { run(kWorkers + 1, one); }
