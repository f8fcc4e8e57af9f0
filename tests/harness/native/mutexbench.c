// mutexbench THREADS COUNT: each thread takes one mutex COUNT times; the sum shows whether it
// excluded.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long sum, count;

static void* work(void* unused) {
  for (long i = 0; i < count; ++i) {
    pthread_mutex_lock(&mutex);
    ++sum;
    pthread_mutex_unlock(&mutex);
  }
  return unused;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 1;
  count = argc > 2 ? atol(argv[2]) : 1000;
  pthread_t ids[64];
  const double start = now();
  for (int i = 0; i < threads; ++i)
    pthread_create(&ids[i], NULL, work, NULL);
  for (int i = 0; i < threads; ++i)
    pthread_join(ids[i], NULL);
  printf("locks/s: %.0f\noperations: %ld\n", threads * count / (now() - start), threads * count);
  printf("result: %s\n", sum == threads * count ? "ok" : "wrong");
  return 0;
}
