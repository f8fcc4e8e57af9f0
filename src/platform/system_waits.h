// The other functions by which threads wait for each other, as a table: semaphores, barriers, the
// exit of a thread. This library swaps none of them; the profiler observes them.
#pragma once

#include <ctime>
#include <pthread.h>
#include <semaphore.h>

#include "platform/functions.h"

namespace lockswap {

// sem_getvalue is not exported: the profiler uses it to find out whether a call waits.
#define LOCKSWAP_WAIT_FUNCTIONS(X)                                                         \
  X(sem_init, init, plain, sem_t*, int, unsigned)                                          \
  X(sem_destroy, destroy, plain, sem_t*)                                                   \
  X(sem_wait, wait, plain, sem_t*)                                                         \
  X(sem_trywait, wait, attempt, sem_t*)                                                    \
  X(sem_timedwait, wait, timed, sem_t*, const timespec*)                                   \
  X(sem_clockwait, wait, clock, sem_t*, clockid_t, const timespec*)                        \
  X(sem_post, signal, plain, sem_t*)                                                       \
  X(barrier_init, init, plain, pthread_barrier_t*, const pthread_barrierattr_t*, unsigned) \
  X(barrier_destroy, destroy, plain, pthread_barrier_t*)                                   \
  X(barrier_wait, wait, plain, pthread_barrier_t*)                                         \
  X(join, wait, plain, pthread_t, void**)                                                  \
  X(sem_getvalue, look, plain, sem_t*, int*)
struct WaitOps {
  LOCKSWAP_TABLE(WaitOps, LOCKSWAP_WAIT_FUNCTIONS)
};

}  // namespace lockswap
