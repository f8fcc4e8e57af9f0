// Two opposite orders are guarded by a third lock, which a later fast path leaves out: hang.
#include "planted.h"

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER, a = PTHREAD_MUTEX_INITIALIZER,
                       b = PTHREAD_MUTEX_INITIALIZER;
static bool is_warm = false;

static void* forward(void* unused) {
  must(pthread_mutex_lock(&guard));
  must(pthread_mutex_lock(&a));
  must(pthread_mutex_lock(&b));
  is_warm = true;
  must(pthread_mutex_unlock(&b));
  must(pthread_mutex_unlock(&a));
  must(pthread_mutex_unlock(&guard));
  return unused;
}
static void* backward(void* unused) {
  must(pthread_mutex_lock(&guard));
  must(pthread_mutex_lock(&b));
  must(pthread_mutex_lock(&a));
  must(pthread_mutex_unlock(&a));
  must(pthread_mutex_unlock(&b));
  must(pthread_mutex_unlock(&guard));
  return unused;
}
static void* fast(void* unused) {
  if (is_right) must(pthread_mutex_lock(&guard));
  must(pthread_mutex_lock(&a));
  if (is_warm) {
    must(pthread_mutex_lock(&b));
    must(pthread_mutex_unlock(&b));
  }
  must(pthread_mutex_unlock(&a));
  if (is_right) must(pthread_mutex_unlock(&guard));
  return unused;
}

static void* one(void* argument) {
  static void* (*const body[])(void*) = {forward, backward, fast};
  work(300 * number_of(argument));
  return body[number_of(argument)](NULL);
}

void planted_fast_path(void) { run(3, one); }
