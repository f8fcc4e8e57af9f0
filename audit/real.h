// The functions that the audit stands before, other than those of reader-writer locks.
#pragma once

#include <ctime>
#include <pthread.h>

namespace lockswap::audit {

struct OtherOps {
  int (*mutex_init)(pthread_mutex_t*, const pthread_mutexattr_t*);
  int (*mutex_destroy)(pthread_mutex_t*);
  int (*mutex_lock)(pthread_mutex_t*);
  int (*mutex_trylock)(pthread_mutex_t*);
  int (*mutex_timedlock)(pthread_mutex_t*, const timespec*);
  int (*mutex_clocklock)(pthread_mutex_t*, clockid_t, const timespec*);
  int (*mutex_unlock)(pthread_mutex_t*);
  int (*cond_init)(pthread_cond_t*, const pthread_condattr_t*);
  int (*cond_clockwait)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
};

inline constinit OtherOps system_other{};

// Fills it in, all at once, at start-up. Returns the name of a function that does not exist, or
// nullptr.
const char* resolve_other_symbols() noexcept;

}  // namespace lockswap::audit
