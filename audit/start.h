// Start-up of the audit library: at the first call of an exported function, or in its constructor.
#pragma once

#include "audit/real.h"

namespace lockswap::audit {

// The mutex functions behind the exported symbols, as active_rwlock (interpose/start.h) has those
// of reader-writer locks: at first each starts the library and then calls what has taken its place.
struct MutexOps {
  int (*init)(pthread_mutex_t*, const pthread_mutexattr_t*);
  int (*destroy)(pthread_mutex_t*);
  int (*lock)(pthread_mutex_t*);
  int (*trylock)(pthread_mutex_t*);
  int (*timedlock)(pthread_mutex_t*, const timespec*);
  int (*clocklock)(pthread_mutex_t*, clockid_t, const timespec*);
  int (*unlock)(pthread_mutex_t*);
};
extern MutexOps active_mutex;
extern const MutexOps audited_mutex;

// For exported functions that are rare. False inside the start itself: nothing is filled in yet.
bool ensure_started() noexcept;

}  // namespace lockswap::audit
