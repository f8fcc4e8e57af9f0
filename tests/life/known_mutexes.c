// Takes an exactly known number of mutexes and condition variables in one thread and prints "done".
// mutexes.py compares with LOCKSWAP_STATS; keep the two in step.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <sys/wait.h>

#include "../expect.h"

static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;  // 1000, and one for each wait
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;  // 6
static pthread_cond_t event = PTHREAD_COND_INITIALIZER;

int main(void) {
  const struct timespec past = {1, 0};
  for (int i = 0; i < 1000; ++i) {
    EXPECT(0, pthread_mutex_lock(&busy));
    EXPECT(0, pthread_mutex_unlock(&busy));
  }
  for (int i = 0; i < 6; ++i)
    EXPECT(0, pthread_mutex_lock(&recursive));
  for (int i = 0; i < 6; ++i)
    EXPECT(0, pthread_mutex_unlock(&recursive));

  EXPECT(0, pthread_mutex_trylock(&busy));
  for (int i = 0; i < 3; ++i)
    EXPECT(EBUSY, pthread_mutex_trylock(&busy));
  for (int i = 0; i < 2; ++i)
    EXPECT(ETIMEDOUT, pthread_mutex_timedlock(&busy, &past));
  for (int i = 0; i < 4; ++i)
    EXPECT(ETIMEDOUT, pthread_cond_timedwait(&event, &busy, &past));
  for (int i = 0; i < 5; ++i)
    EXPECT(0, pthread_cond_signal(&event));
  EXPECT(0, pthread_cond_broadcast(&event));
  EXPECT(0, pthread_mutex_unlock(&busy));

  // One that stays glibc's.
  pthread_mutex_t robust;
  pthread_mutexattr_t attributes;
  EXPECT(0, pthread_mutexattr_init(&attributes));
  EXPECT(0, pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST));
  EXPECT(0, pthread_mutex_init(&robust, &attributes));
  for (int i = 0; i < 7; ++i) {
    EXPECT(0, pthread_mutex_lock(&robust));
    EXPECT(0, pthread_mutex_unlock(&robust));
  }

  // A forked child lives on too, whatever the library could write.
  // It is not counted, because no exit handler runs.
  const pid_t child = fork();
  if (child == 0) {
    EXPECT(0, pthread_mutex_lock(&busy));
    EXPECT(0, pthread_mutex_unlock(&busy));
    _exit(0);
  }
  int status = -1;
  EXPECT(child, waitpid(child, &status, 0));
  EXPECT(0, status);
  puts("done");
  return 0;
}
