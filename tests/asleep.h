// Whether a thread sleeps or how long it has run, for tests that have to wait until another thread
// waits. C and C++.
#ifndef LOCKSWAP_TESTS_ASLEEP_H
#define LOCKSWAP_TESTS_ASLEEP_H

#include <pthread.h>
#include <stdio.h>
#include <time.h>

// Returns 1 if the thread of this process with that id is asleep in the kernel, 0 if it runs, was
// preempted, or doesn't exist.
static inline int is_asleep(int tid) {
  char path[64], state = 0;
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
  FILE* const file = fopen(path, "re");
  if (!file) return 0;
  if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1) state = 0;
  fclose(file);
  return state == 'S';
}

// Returns the nanoseconds of processor time that a thread of this process has used; 0: it is over.
static inline long long cpu_ns_of(pthread_t thread) {
  clockid_t clock;
  struct timespec used = {0, 0};
  if (pthread_getcpuclockid(thread, &clock) == 0) clock_gettime(clock, &used);
  return used.tv_sec * 1000000000LL + used.tv_nsec;
}

#endif
