// The system's functions on the attributes of locks, which this library doesn't export: it calls
// them to find out how objects are laid out (object_layout.h). A function that this C library lacks
// is nullptr.
#pragma once

#include <ctime>
#include <pthread.h>

namespace lockswap {

struct AttributeOps {
  int (*cond_init)(pthread_condattr_t*);
  int (*cond_setpshared)(pthread_condattr_t*, int);
  int (*cond_setclock)(pthread_condattr_t*, clockid_t);
  int (*mutex_init)(pthread_mutexattr_t*);
  int (*mutex_settype)(pthread_mutexattr_t*, int);
  int (*mutex_setpshared)(pthread_mutexattr_t*, int);
  int (*mutex_setrobust)(pthread_mutexattr_t*, int);
  int (*mutex_setprotocol)(pthread_mutexattr_t*, int);
  int (*rwlock_init)(pthread_rwlockattr_t*);
  int (*rwlock_setpshared)(pthread_rwlockattr_t*, int);
  int (*rwlock_setkind)(pthread_rwlockattr_t*, int);
};

inline constinit AttributeOps system_attributes{};

}  // namespace lockswap
