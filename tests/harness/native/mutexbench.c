// mutexbench THREADS COUNT: each thread takes one mutex COUNT times; the sum shows whether it
// excluded.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "crew.h"

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

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 1;
  count = argc > 2 ? atol(argv[2]) : 1000;
  const double s = seconds_of(threads, work);
  printf("locks/s: %.0f\noperations: %ld\n", (double)(threads * count) / s, threads * count);
  printf("result: %s\n", sum == threads * count ? "ok" : "wrong");
  return 0;
}
