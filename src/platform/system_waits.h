// The other functions by which threads wait for each other, as a table: semaphores, barriers, the
// end of a thread. This library swaps none of them; a profile looks at them.
#pragma once

#include <ctime>
#include <pthread.h>
#include <semaphore.h>

namespace lockswap {

struct WaitOps {
  int (*sem_init)(sem_t*, int, unsigned);
  int (*sem_destroy)(sem_t*);
  int (*sem_wait)(sem_t*);
  int (*sem_trywait)(sem_t*);
  int (*sem_timedwait)(sem_t*, const timespec*);
  int (*sem_clockwait)(sem_t*, clockid_t, const timespec*);
  int (*sem_post)(sem_t*);
  int (*barrier_init)(pthread_barrier_t*, const pthread_barrierattr_t*, unsigned);
  int (*barrier_destroy)(pthread_barrier_t*);
  int (*barrier_wait)(pthread_barrier_t*);
  int (*join)(pthread_t, void**);
  int (*sem_getvalue)(sem_t*, int*);  // not exported: how a profile finds out that a call waits
};

}  // namespace lockswap
