// Preloaded into `place`: prints the stack of each call of a lock function, as "FUNCTION CASE
// FILE:ADDRESS ...", with addresses as the file's own tables have them.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static const char* now;
static __thread int inside;

void now_comes(const char* name) { now = name; }

static void show(const char* function, void* caller) {
  void* frames[64];
  if (now == NULL || inside) return;
  inside = 1;
  int count = backtrace(frames, 64);
  int first = 0;
  while (first < count && frames[first] != caller)
    ++first;
  printf("%s %s", function, now);
  for (int i = first; i < count; ++i) {
    Dl_info info;
    struct link_map* map = NULL;
    if (dladdr1(frames[i], &info, (void**)&map, RTLD_DL_LINKMAP) && map != NULL)
      printf(" %s:%lx", info.dli_fname, (unsigned long)frames[i] - map->l_addr);
  }
  printf("\n");
  inside = 0;
}

#define PASS(function, parameters, arguments)                                \
  int function parameters {                                                  \
    static int(*real) parameters;                                            \
    if (real == NULL) real = (int(*) parameters)dlsym(RTLD_NEXT, #function); \
    show(#function, __builtin_return_address(0));                            \
    return real arguments;                                                   \
  }

PASS(pthread_mutex_lock, (pthread_mutex_t * one), (one))
PASS(pthread_mutex_trylock, (pthread_mutex_t * one), (one))
PASS(pthread_mutex_unlock, (pthread_mutex_t * one), (one))
PASS(pthread_rwlock_rdlock, (pthread_rwlock_t * one), (one))
PASS(pthread_rwlock_wrlock, (pthread_rwlock_t * one), (one))
PASS(pthread_rwlock_unlock, (pthread_rwlock_t * one), (one))
PASS(pthread_once, (pthread_once_t * one, void (*call)(void)), (one, call))
PASS(pthread_join, (pthread_t one, void** result), (one, result))
PASS(pthread_cond_clockwait,
     (pthread_cond_t * one, pthread_mutex_t* mutex, clockid_t clock, const struct timespec* end),
     (one, mutex, clock, end))
PASS(pthread_cond_timedwait,
     (pthread_cond_t * one, pthread_mutex_t* mutex, const struct timespec* end), (one, mutex, end))
