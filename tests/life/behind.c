// Lies behind an observer and counts what comes through, by the name of the function, between two
// calls of the program: behind_begin, and behind_end, which prints the counts. unseen.py compares
// them with those of the program without an observer.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

enum { kMost = 64 };
static struct {
  const char* name;
  int calls;
} counted[kMost];  // one for each function
static int counts;

static void count(int i, const char* name) {
  if (!__atomic_load_n(&counts, __ATOMIC_RELAXED)) return;
  __atomic_store_n(&counted[i].name, name, __ATOMIC_RELAXED);
  __atomic_fetch_add(&counted[i].calls, 1, __ATOMIC_RELAXED);
}

void behind_begin(void) { counts = 1; }
void behind_end(void) {
  counts = 0;
  for (int i = 0; i < kMost; ++i)
    if (counted[i].name != NULL) printf("%s came through: %d\n", counted[i].name, counted[i].calls);
}

#define THROUGH(name, parameters, ...)                                   \
  int name parameters {                                                  \
    static int(*real) parameters;                                        \
    if (real == NULL) real = (int(*) parameters)dlsym(RTLD_NEXT, #name); \
    count(__COUNTER__, #name);                                           \
    return real(__VA_ARGS__);                                            \
  }

THROUGH(pthread_mutex_lock, (pthread_mutex_t * m), m)
THROUGH(pthread_mutex_trylock, (pthread_mutex_t * m), m)
THROUGH(pthread_mutex_timedlock, (pthread_mutex_t * m, const struct timespec* at), m, at)
THROUGH(pthread_mutex_clocklock, (pthread_mutex_t * m, clockid_t c, const struct timespec* at), m,
        c, at)
THROUGH(pthread_mutex_unlock, (pthread_mutex_t * m), m)
THROUGH(pthread_rwlock_rdlock, (pthread_rwlock_t * l), l)
THROUGH(pthread_rwlock_tryrdlock, (pthread_rwlock_t * l), l)
THROUGH(pthread_rwlock_timedrdlock, (pthread_rwlock_t * l, const struct timespec* at), l, at)
THROUGH(pthread_rwlock_clockrdlock, (pthread_rwlock_t * l, clockid_t c, const struct timespec* at),
        l, c, at)
THROUGH(pthread_rwlock_wrlock, (pthread_rwlock_t * l), l)
THROUGH(pthread_rwlock_trywrlock, (pthread_rwlock_t * l), l)
THROUGH(pthread_rwlock_timedwrlock, (pthread_rwlock_t * l, const struct timespec* at), l, at)
THROUGH(pthread_rwlock_clockwrlock, (pthread_rwlock_t * l, clockid_t c, const struct timespec* at),
        l, c, at)
THROUGH(pthread_rwlock_unlock, (pthread_rwlock_t * l), l)
THROUGH(sem_wait, (sem_t * s), s)
THROUGH(sem_trywait, (sem_t * s), s)
THROUGH(sem_timedwait, (sem_t * s, const struct timespec* at), s, at)
THROUGH(sem_clockwait, (sem_t * s, clockid_t c, const struct timespec* at), s, c, at)
THROUGH(sem_post, (sem_t * s), s)
THROUGH(pthread_join, (pthread_t t, void** result), t, result)
THROUGH(pthread_tryjoin_np, (pthread_t t, void** result), t, result)
