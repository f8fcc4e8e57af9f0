// The last one to come to a barrier destroys it when the others should have left: abort (EINVAL).
#include "planted.h"

enum { kThreads = 3 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_are_here = PTHREAD_COND_INITIALIZER;
static int here = 0, gone = 0, generation = 0;

// Returns whether the caller was the last one to come, or to go in the right program.
static bool arrive(void) {
  must(pthread_mutex_lock(&m));
  const int mine = generation;
  const bool is_last = ++here == kThreads;
  if (is_last) {
    here = 0;
    ++generation;
    must(pthread_cond_broadcast(&all_are_here));
  }
  while (mine == generation)
    must(pthread_cond_wait(&all_are_here, &m));
  const bool is_last_to_go = ++gone % kThreads == 0;
  must(pthread_mutex_unlock(&m));
  return is_right ? is_last_to_go : is_last;
}

static void* one(void* argument) {
  work(300 * number_of(argument));
  arrive();
  if (!arrive()) return NULL;
  if (!is_right) work(3000);
  must(pthread_cond_destroy(&all_are_here));
  must(pthread_mutex_destroy(&m));
  return NULL;
}

void planted_barrier(void) { run(kThreads, one); }
