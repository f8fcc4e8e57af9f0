// A library with a hot lock, which profile_hot_locks loads and unloads.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "waiter.h"

static pthread_mutex_t of_library = PTHREAD_MUTEX_INITIALIZER;
static atomic_int over;

static void nap(long us) {
  const struct timespec t = {0, us * 1000};
  nanosleep(&t, NULL);
}

static __attribute__((noinline)) void hold_in_library(void) {
  pthread_mutex_lock(&of_library);
  await_waiter();
  nap(3000);
  pthread_mutex_unlock(&of_library);  // holder library
}

static void* wait_in_library(void* unused) {
  while (!atomic_load(&over)) {
    about_to_wait();
    pthread_mutex_lock(&of_library);  // waiter library
    has_waited();
    pthread_mutex_unlock(&of_library);
    nap(100);
  }
  return unused;
}

void library_work(void) {
  pthread_t t;
  pthread_create(&t, NULL, wait_in_library, NULL);
  for (int i = 0; i < 30; ++i) {
    hold_in_library();
    nap(200);
  }
  atomic_store(&over, 1);
  pthread_join(t, NULL);
}
