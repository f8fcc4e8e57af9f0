// A library that brings libpthread into a program that has none, on glibcs older than 2.34:
// threads, locks, condition variables, a cancelled wait. late.c opens it.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { kThreads = 4, kRounds = 20000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int count, done;

static void* adds(void* ignored) {
  for (int i = 0; i < kRounds; ++i) {
    pthread_mutex_lock(&mutex);
    ++count;
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
  }
  pthread_mutex_lock(&mutex);
  ++done;
  pthread_cond_signal(&cond);
  pthread_mutex_unlock(&mutex);
  return ignored;
}

static void release(void* m) { pthread_mutex_unlock(m); }

static void* waits(void* ignored) {
  pthread_mutex_lock(&mutex);
  pthread_cleanup_push(release, &mutex);
  for (;;)
    pthread_cond_wait(&cond, &mutex);
  pthread_cleanup_pop(1);
  return ignored;
}

// Returns 0 if all is right.
int use_threads(void) {
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    if (pthread_create(&threads[i], NULL, adds, NULL) != 0) return 2;
  }
  pthread_mutex_lock(&mutex);
  while (done < kThreads)
    pthread_cond_wait(&cond, &mutex);
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < kThreads; ++i)
    pthread_join(threads[i], NULL);

  pthread_t waiter;
  void* result = NULL;
  if (pthread_create(&waiter, NULL, waits, NULL) != 0) return 2;
  const struct timespec nap = {.tv_nsec = 20000000};
  nanosleep(&nap, NULL);
  pthread_cancel(waiter);
  pthread_join(waiter, &result);
  const int free_again = pthread_mutex_trylock(&mutex) == 0;
  printf("count %d, cancelled %d, free %d\n", count, result == PTHREAD_CANCELED, free_again);
  return count == kThreads * kRounds && result == PTHREAD_CANCELED && free_again ? 0 : 1;
}
