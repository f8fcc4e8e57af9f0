// Three threads take the locks of three neighbours in a circle: hang, if each has its first.
#include "planted.h"

static pthread_mutex_t fork_[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                   PTHREAD_MUTEX_INITIALIZER};

static void* eat(void* argument) {
  const int i = number_of(argument);
  const bool is_last_first = is_right && i == 2;
  pthread_mutex_t *left = &fork_[i], *other = &fork_[(i + 1) % 3];
  work(300 * i);
  must(pthread_mutex_lock(is_last_first ? other : left));
  must(pthread_mutex_lock(is_last_first ? left : other));
  must(pthread_mutex_unlock(other));
  must(pthread_mutex_unlock(left));
  return NULL;
}

void planted_circle(void) { run(3, eat); }
