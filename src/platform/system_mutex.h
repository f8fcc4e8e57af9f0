// The mutex and condition variable functions of POSIX as tables: the system's own (glibc's, the
// next ones in symbol order), which interpose fills in before the first lock is taken.
#pragma once

#include <ctime>
#include <pthread.h>

namespace lockswap {

struct MutexOps {
  int (*init)(pthread_mutex_t*, const pthread_mutexattr_t*);
  int (*destroy)(pthread_mutex_t*);
  int (*lock)(pthread_mutex_t*);
  int (*trylock)(pthread_mutex_t*);
  int (*timedlock)(pthread_mutex_t*, const timespec*);
  int (*clocklock)(pthread_mutex_t*, clockid_t, const timespec*);
  int (*unlock)(pthread_mutex_t*);
};

struct CondOps {
  int (*init)(pthread_cond_t*, const pthread_condattr_t*);
  int (*destroy)(pthread_cond_t*);
  int (*wait)(pthread_cond_t*, pthread_mutex_t*);
  int (*timedwait)(pthread_cond_t*, pthread_mutex_t*, const timespec*);
  int (*clockwait)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
  int (*signal)(pthread_cond_t*);
  int (*broadcast)(pthread_cond_t*);
};

// What condition variables of ours ask of mutexes besides.
struct MutexOfConds {
  bool (*is_ours)(pthread_mutex_t*);  // it is not glibc's
  // Of one of ours: a thread begins to wait on a condition variable with it, or has it again.
  void (*count_waiter)(pthread_mutex_t*, bool begins);
};

inline constinit MutexOps system_mutex{};
inline constinit CondOps system_cond{};
// Of programs linked before glibc 2.3.2, with an object of another layout; no clockwait. On
// architectures that are younger the same as system_cond.
inline constinit CondOps system_old_cond{};

}  // namespace lockswap
