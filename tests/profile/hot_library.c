// A library with a hot lock, which profile_hot_locks loads and unloads.
#include <pthread.h>
#include <stddef.h>
#include <time.h>

static pthread_mutex_t of_library = PTHREAD_MUTEX_INITIALIZER;

static void nap(long us) {
  const struct timespec t = {0, us * 1000};
  nanosleep(&t, NULL);
}

static __attribute__((noinline)) void hold_in_library(void) {
  pthread_mutex_lock(&of_library);
  nap(3000);
  pthread_mutex_unlock(&of_library);  // holder library
}

static void* wait_in_library(void* unused) {
  for (int i = 0; i < 200; ++i) {
    pthread_mutex_lock(&of_library);  // waiter library
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
  pthread_join(t, NULL);
}
