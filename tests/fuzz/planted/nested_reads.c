// A reader locks again what it reads, where a waiting writer shuts readers out: hang.
#include "planted.h"

static pthread_rwlock_t l = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static int entries = 1;

static int count(void) {
  if (is_right) return entries;
  must(pthread_rwlock_rdlock(&l));
  const int n = entries;
  must(pthread_rwlock_unlock(&l));
  return n;
}

static void* one(void* argument) {
  const int i = number_of(argument);
  work(300 * i);
  if (i < 3) {
    must(pthread_rwlock_rdlock(&l));
    expect(count() >= 1);
  } else {
    must(pthread_rwlock_wrlock(&l));
    ++entries;
  }
  must(pthread_rwlock_unlock(&l));
  return NULL;
}

void planted_nested_reads(void) { run(4, one); }
