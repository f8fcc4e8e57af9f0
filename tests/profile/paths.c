// A program whose answer `lockswap whatif` must find. Two workers take `critical` for most of their
// work, so each of its holds is on the path of both. Two helpers take `busy` far more often, by
// bursts, and nobody waits for what they do. Usage: paths ROUNDS. It ends when each worker has made
// so many, and prints "rounds/s: N".
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t critical = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t busy = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int over;
static long rounds;
static long done;

static void work(int n) {
  for (volatile int i = 0; i < n; ++i) {}
}

static void* work_on(void* unused) {
  for (long i = 0; i < rounds; ++i) {
    pthread_mutex_lock(&critical);
    work(8000);
    ++done;
    pthread_mutex_unlock(&critical);
    work(800);
  }
  return unused;
}

static void* help(void* unused) {
  while (!atomic_load_explicit(&over, memory_order_relaxed)) {
    for (int i = 0; i < 200; ++i) {
      pthread_rwlock_rdlock(&busy);
      work(20);
      pthread_rwlock_unlock(&busy);
    }
    const struct timespec pause = {0, 1000000};
    nanosleep(&pause, NULL);
  }
  return unused;
}

int main(int argc, char** argv) {
  rounds = argc > 1 ? atol(argv[1]) : 1000;
  pthread_t threads[4];
  struct timespec a, b;
  clock_gettime(CLOCK_MONOTONIC, &a);
  for (int i = 0; i < 4; ++i)
    pthread_create(&threads[i], NULL, i < 2 ? work_on : help, NULL);
  for (int i = 0; i < 2; ++i)
    pthread_join(threads[i], NULL);
  clock_gettime(CLOCK_MONOTONIC, &b);
  atomic_store(&over, 1);
  for (int i = 2; i < 4; ++i)
    pthread_join(threads[i], NULL);
  const double s = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) * 1e-9;
  printf("rounds/s: %.1f\n", (double)done / s);
  return done == 2 * rounds ? 0 : 1;
}
