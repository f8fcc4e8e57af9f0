// Whether a thread sleeps, for tests that have to wait until another thread does. C and C++.
#ifndef LOCKSWAP_TESTS_ASLEEP_H
#define LOCKSWAP_TESTS_ASLEEP_H

#include <stdio.h>

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

#endif
