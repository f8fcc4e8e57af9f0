// A thread lets its lock go to get another by tries, and goes on with what it saw before: abort.
#include <sched.h>

#include "planted.h"

static pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER, job = PTHREAD_MUTEX_INITIALIZER;
static int started = 0;

// Takes the journal first, as all others do.
static void* report(void* unused) {
  must(pthread_mutex_lock(&journal));
  must(pthread_mutex_lock(&job));
  must(pthread_mutex_unlock(&job));
  must(pthread_mutex_unlock(&journal));
  return unused;
}
static void* begin(void* unused) {
  must(pthread_mutex_lock(&job));
  bool is_new = started == 0;
  while (is_new && pthread_mutex_trylock(&journal) != 0) {
    must(pthread_mutex_unlock(&job));
    sched_yield();
    must(pthread_mutex_lock(&job));
    if (is_right) is_new = started == 0;
  }
  if (is_new) {
    expect(++started == 1);
    must(pthread_mutex_unlock(&journal));
  }
  must(pthread_mutex_unlock(&job));
  return unused;
}

static void* one(void* argument) {
  work(300 * number_of(argument));
  return number_of(argument) == 0 ? report(NULL) : begin(NULL);
}

void planted_try_loop(void) { run(3, one); }
