// Tables of the system's own mutex and condition variable functions (glibc's, the next ones in
// symbol order), which interpose fills in before the first lock is taken.
#pragma once

#include <ctime>
#include <pthread.h>

#include "platform/functions.h"

namespace lockswap {

#define LOCKSWAP_MUTEX_FUNCTIONS(X)                                       \
  X(init, init, plain, pthread_mutex_t*, const pthread_mutexattr_t*)      \
  X(destroy, destroy, plain, pthread_mutex_t*)                            \
  X(lock, lock, plain, pthread_mutex_t*)                                  \
  X(trylock, lock, attempt, pthread_mutex_t*)                             \
  X(timedlock, lock, timed, pthread_mutex_t*, const timespec*)            \
  X(clocklock, lock, clock, pthread_mutex_t*, clockid_t, const timespec*) \
  X(unlock, unlock, plain, pthread_mutex_t*)
struct MutexOps {
  LOCKSWAP_TABLE(MutexOps, LOCKSWAP_MUTEX_FUNCTIONS)
};

#define LOCKSWAP_COND_FUNCTIONS(X)                                                         \
  X(init, init, plain, pthread_cond_t*, const pthread_condattr_t*)                         \
  X(destroy, destroy, plain, pthread_cond_t*)                                              \
  X(wait, wait, plain, pthread_cond_t*, pthread_mutex_t*)                                  \
  X(timedwait, wait, timed, pthread_cond_t*, pthread_mutex_t*, const timespec*)            \
  X(clockwait, wait, clock, pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*) \
  X(signal, signal, plain, pthread_cond_t*)                                                \
  X(broadcast, broadcast, plain, pthread_cond_t*)
struct CondOps {
  LOCKSWAP_TABLE(CondOps, LOCKSWAP_COND_FUNCTIONS)
};

// What else our condition variables need from mutexes.
struct MutexOfConds {
  bool (*is_ours)(pthread_mutex_t*);  // it is not glibc's
  // Only for ours: a thread begins to wait on a condition variable with it, or has reacquired it.
  void (*count_waiter)(pthread_mutex_t*, bool begins);
};

// Returns whether a thread holds a mutex of glibc's. Only a hint.
inline bool is_locked(const pthread_mutex_t* m) noexcept {
  return __atomic_load_n(&m->__data.__lock, __ATOMIC_RELAXED) != 0;
}

inline constinit MutexOps system_mutex{};
inline constinit CondOps system_cond{};
// For programs linked before glibc 2.3.2, whose objects have another layout. It has no clockwait.
// On newer architectures it is the same as system_cond.
inline constinit CondOps system_old_cond{};

}  // namespace lockswap
