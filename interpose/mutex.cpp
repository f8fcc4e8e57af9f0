// The exported mutex functions: each is a probe and a line. See rwlock.cpp.
//
// pthread_mutex_consistent, _getprioceiling and _setprioceiling are not replaced. They are for
// mutexes that stay glibc's, and return EINVAL for others by looking only at the kind, which we
// keep as glibc's.

#include <pthread.h>

#include "interpose/exports.h"
#include "interpose/start.h"
#include "probes/probes.h"

using lockswap::active_mutex;
namespace probes = lockswap::probes;

extern "C" {

LOCKSWAP_EXPORTED int lockswap_mutex_init(pthread_mutex_t* m, const pthread_mutexattr_t* a) {
  probes::mutex_init(m);
  return active_mutex.init(m, a);
}
LOCKSWAP_EXPORTED int lockswap_mutex_destroy(pthread_mutex_t* m) {
  probes::mutex_destroy(m);
  return active_mutex.destroy(m);
}
LOCKSWAP_EXPORTED int lockswap_mutex_lock(pthread_mutex_t* m) {
  probes::mutex_entry(m);
  return active_mutex.lock(m);
}
LOCKSWAP_EXPORTED int lockswap_mutex_trylock(pthread_mutex_t* m) { return active_mutex.trylock(m); }
LOCKSWAP_EXPORTED int lockswap_mutex_timedlock(pthread_mutex_t* m, const timespec* at) {
  probes::mutex_timedlock_entry(m, at);
  return active_mutex.timedlock(m, at);
}
LOCKSWAP_EXPORTED int lockswap_mutex_clocklock(pthread_mutex_t* m, clockid_t clock,
                                               const timespec* at) {
  probes::mutex_clocklock_entry(m, clock, at);
  return active_mutex.clocklock(m, clock, at);
}
LOCKSWAP_EXPORTED int lockswap_mutex_unlock(pthread_mutex_t* m) {
  probes::mutex_release(m);
  return active_mutex.unlock(m);
}

}  // extern "C"

LOCKSWAP_SYMBOLS(lockswap_mutex_init)
LOCKSWAP_SYMBOLS(lockswap_mutex_destroy)
LOCKSWAP_SYMBOLS(lockswap_mutex_lock)
LOCKSWAP_SYMBOLS(lockswap_mutex_unlock)
LOCKSWAP_SYMBOLS(lockswap_mutex_trylock)
LOCKSWAP_SYMBOLS(lockswap_mutex_timedlock)
LOCKSWAP_SYMBOLS(lockswap_mutex_clocklock)
