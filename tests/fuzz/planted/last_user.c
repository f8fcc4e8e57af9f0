// An object is looked up, and has no users any more before it gets the new one: abort (EINVAL).
#include "planted.h"

struct object {
  pthread_mutex_t m;
  int users;
};
static struct object the_object = {PTHREAD_MUTEX_INITIALIZER, 1};
static struct object* known = &the_object;
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;

static struct object* get(void) {
  must(pthread_mutex_lock(&table));
  struct object* o = known;
  if (!is_right) must(pthread_mutex_unlock(&table));
  if (o != NULL) {
    must(pthread_mutex_lock(&o->m));
    ++o->users;
    must(pthread_mutex_unlock(&o->m));
  }
  if (is_right) must(pthread_mutex_unlock(&table));
  return o;
}
static void put(struct object* o) {
  must(pthread_mutex_lock(&table));
  must(pthread_mutex_lock(&o->m));
  const bool is_last = --o->users == 0;
  if (is_last) known = NULL;
  must(pthread_mutex_unlock(&o->m));
  must(pthread_mutex_unlock(&table));
  if (is_last) must(pthread_mutex_destroy(&o->m));
}

static void* one(void* argument) {
  work(300 * number_of(argument));
  struct object* o = number_of(argument) == 3 ? &the_object : get();
  if (o != NULL) put(o);
  return NULL;
}

void planted_last_user(void) { run(4, one); }
