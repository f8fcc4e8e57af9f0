// What finds a document in the middle of a change unlocks, and again at the end: abort (EPERM).
#include "planted.h"

static pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static bool is_changing = false;

static void set(bool changing) {
  must(pthread_mutex_lock(&m));
  is_changing = changing;
  must(pthread_mutex_unlock(&m));
}

static void* one(void* argument) {
  work(300 * number_of(argument));
  if (number_of(argument) == 0) {
    set(true);
    set(false);
    return NULL;
  }
  must(pthread_mutex_lock(&m));
  if (is_changing) {
    must(pthread_mutex_unlock(&m));
    if (is_right) return NULL;
  }
  must(pthread_mutex_unlock(&m));
  return NULL;
}

void planted_two_paths(void) { run(3, one); }
