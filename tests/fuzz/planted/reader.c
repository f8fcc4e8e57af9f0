// A reader that finds old data leaves, and leaves again with all others: abort, or hang.
// The second release takes another reader's place away, or makes the count of readers negative.
#include "planted.h"

static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static bool is_old = false;
static int writers = 0;

static void read_it(void) {
  must(pthread_rwlock_rdlock(&l));
  if (is_old) {
    must(pthread_rwlock_unlock(&l));
    if (is_right) return;
  } else {
    must(pthread_mutex_lock(&other));
    must(pthread_mutex_unlock(&other));
    expect(writers == 0);
  }
  must(pthread_rwlock_unlock(&l));
}
static void write_it(bool old) {
  must(pthread_rwlock_wrlock(&l));
  ++writers;
  is_old = old;
  must(pthread_mutex_lock(&other));
  must(pthread_mutex_unlock(&other));
  --writers;
  must(pthread_rwlock_unlock(&l));
}

static void* one(void* argument) {
  work(300 * number_of(argument));
  if (number_of(argument) > 0) {
    read_it();
  } else {
    write_it(true);
    write_it(false);
  }
  return NULL;
}

void planted_reader(void) { run(4, one); }
