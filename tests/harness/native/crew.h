// Runs threads that do the same, and measures how long they take.
#pragma once

#include <pthread.h>
#include <time.h>

static inline double seconds_of(int threads, void* (*work)(void*)) {
  struct timespec a, b;
  clock_gettime(CLOCK_MONOTONIC, &a);
  pthread_t ids[64];
  for (int i = 0; i < threads; ++i)
    pthread_create(&ids[i], NULL, work, NULL);
  for (int i = 0; i < threads; ++i)
    pthread_join(ids[i], NULL);
  clock_gettime(CLOCK_MONOTONIC, &b);
  double s = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
  return s;
}
