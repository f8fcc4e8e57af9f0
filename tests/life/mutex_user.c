// A library with a mutex of its own and no reader-writer lock; loaded as user.c is.
#include <errno.h>
#include <pthread.h>

#define EXPORT __attribute__((visibility("default")))

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

// 0: it works as mutexes do.
EXPORT int user_works(void) {
  for (int i = 0; i < 200; ++i) {
    if (pthread_mutex_lock(&mutex) != 0) return 1;
    if (pthread_mutex_trylock(&mutex) != EBUSY) return 2;
    if (pthread_cond_signal(&cond) != 0) return 3;
    if (pthread_mutex_unlock(&mutex) != 0) return 4;
  }
  return 0;
}
