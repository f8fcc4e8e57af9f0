// A program without a race, built for ThreadSanitizer: threads that come from several places and
// meet at locks of each kind.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

enum { kThreads = 4, kRounds = 400 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int under_mutex, under_rwlock, items;

static __attribute__((noinline)) void meet(int round) {
  pthread_mutex_lock(&mutex);
  ++under_mutex;
  ++items;
  pthread_cond_signal(&cond);
  pthread_mutex_unlock(&mutex);
  if (round % 8 == 0) {
    pthread_rwlock_wrlock(&rwlock);
    ++under_rwlock;
  } else {
    pthread_rwlock_rdlock(&rwlock);
  }
  pthread_rwlock_unlock(&rwlock);
  sem_post(&semaphore);
  sem_wait(&semaphore);
  pthread_mutex_lock(&mutex);
  while (items == 0)
    pthread_cond_wait(&cond, &mutex);
  --items;
  pthread_mutex_unlock(&mutex);
}
static __attribute__((noinline)) void deeper(int depth, int round) {
  if (depth == 0) {
    meet(round);
  } else {
    deeper(depth - 1, round);
  }
  __asm__ volatile("" ::: "memory");
}
static void* run(void* unused) {
  for (int i = 0; i < kRounds; ++i)
    deeper(i % 16, i);
  return unused;
}

int main(void) {
  pthread_t threads[kThreads];
  sem_init(&semaphore, 0, 0);
  for (int i = 0; i < kThreads; ++i)
    pthread_create(&threads[i], NULL, run, NULL);
  for (int i = 0; i < kThreads; ++i)
    pthread_join(threads[i], NULL);
  printf("%d\n", under_mutex);
  return under_mutex == kThreads * kRounds ? 0 : 1;
}
