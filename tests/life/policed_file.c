/* A library with locks of its own, for policed.c: one that a call initialises, two that nothing
   initialises and that are used here first. */
#include <pthread.h>
#include <stdlib.h>

static pthread_rwlock_t ready = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t ready_mutex = PTHREAD_MUTEX_INITIALIZER;

pthread_rwlock_t* file_make(void) {
  pthread_rwlock_t* l = malloc(sizeof *l);
  if (l == NULL || pthread_rwlock_init(l, NULL) != 0) abort();
  return l;
}

pthread_rwlock_t* file_ready(void) {
  if (pthread_rwlock_rdlock(&ready) != 0 || pthread_rwlock_unlock(&ready) != 0) abort();
  return &ready;
}

pthread_mutex_t* file_ready_mutex(void) {
  if (pthread_mutex_lock(&ready_mutex) != 0 || pthread_mutex_unlock(&ready_mutex) != 0) abort();
  return &ready_mutex;
}
