// A request is over when its flag is seen, but its condition variable is still signalled: abort.
// glibc accepts the signal, so the request says itself that it is gone, as AddressSanitizer would.
#include "planted.h"

struct request {
  pthread_mutex_t m;
  pthread_cond_t answered;
  bool has_answer, is_gone;
};
static struct request requests[2] = {
    {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, false},
    {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, false}};

static void* ask(struct request* r) {
  must(pthread_mutex_lock(&r->m));
  while (!r->has_answer)
    must(pthread_cond_wait(&r->answered, &r->m));
  must(pthread_mutex_unlock(&r->m));
  r->is_gone = true;
  must(pthread_cond_destroy(&r->answered));
  must(pthread_mutex_destroy(&r->m));
  return NULL;
}
static void* answer(struct request* r) {
  work(2000);
  must(pthread_mutex_lock(&r->m));
  r->has_answer = true;
  if (is_right) must(pthread_cond_signal(&r->answered));
  must(pthread_mutex_unlock(&r->m));
  if (is_right) return NULL;
  expect(!r->is_gone);
  must(pthread_cond_signal(&r->answered));
  return NULL;
}

static void* one(void* argument) {
  const int i = number_of(argument);
  return (i % 2 == 0 ? ask : answer)(&requests[i / 2]);
}

void planted_completion(void) { run(4, one); }
