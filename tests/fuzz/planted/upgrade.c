// Two readers of a self-made rwlock wait for each other to leave so that they can write: hang.
#include "planted.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int readers = 0, filled = 0;
static bool is_written = false;

static void lock(bool writes) {
  must(pthread_mutex_lock(&m));
  while (is_written || (writes && readers > 0))
    must(pthread_cond_wait(&changed, &m));
  if (writes) {
    is_written = true;
  } else {
    ++readers;
  }
  must(pthread_mutex_unlock(&m));
}
static void unlock(bool writes) {
  must(pthread_mutex_lock(&m));
  if (writes) {
    is_written = false;
  } else {
    --readers;
  }
  must(pthread_cond_broadcast(&changed));
  must(pthread_mutex_unlock(&m));
}
static void write_instead(void) {
  must(pthread_mutex_lock(&m));
  while (is_written || readers > 1)
    must(pthread_cond_wait(&changed, &m));
  --readers;
  is_written = true;
  must(pthread_mutex_unlock(&m));
}

static void* one(void* argument) {
  work(400 * number_of(argument));
  lock(false);
  const bool writes = filled == 0;
  if (writes && is_right) {
    unlock(false);
    lock(true);
  } else if (writes) {
    write_instead();
  }
  if (writes && filled == 0) filled = 1;
  unlock(writes);
  return NULL;
}

void planted_upgrade(void) { run(4, one); }
