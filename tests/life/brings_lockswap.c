// A library that is linked with the preload library, for dlmopen: in its namespace the locks are
// ours, and its threads are made by a libc of their own, of which the program's knows nothing.
#include <pthread.h>

enum { THREADS = 2, ROUNDS = 300000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile long counted;

static void* count(void* unused) {
  for (int i = 0; i < ROUNDS; ++i) {
    pthread_mutex_lock(&mutex);
    ++counted;
    pthread_mutex_unlock(&mutex);
  }
  return unused;
}

// As user.c's: 0, or the step that was wrong.
int user_works(void) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    if (pthread_create(&threads[i], NULL, count, NULL) != 0) return 1;
  }
  for (int i = 0; i < THREADS; ++i)
    pthread_join(threads[i], NULL);
  return counted == (long)THREADS * ROUNDS ? 0 : 2;
}
