// The C library's own functions on locks, whatever other libraries interpose them, for the
// experiments of object_layout.h. Programs' calls go to the tables of system_mutex.h and its
// neighbours.
#pragma once

#include <ctime>
#include <pthread.h>

#include "platform/system_mutex.h"
#include "platform/system_rwlock.h"

namespace lockswap {

// A function that this C library lacks is nullptr.
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

struct LibcFunctions {
  RwOps rwlock;
  MutexOps mutex;
  CondOps cond;
  AttributeOps attributes;
};

inline constinit LibcFunctions libc_functions{};

}  // namespace lockswap
