// The exported reader-writer lock functions: each is a probe (docs/production.md) and a line. The
// probe comes first, where it costs nothing.
//
// Every name is exported at every version that glibc has it at. A program that is bound to a
// version which a preloaded library lacks would silently skip that library.

#include <pthread.h>

#include "interpose/exports.h"
#include "interpose/start.h"
#include "probes/probes.h"

using lockswap::active_rwlock;
namespace probes = lockswap::probes;

extern "C" {

LOCKSWAP_EXPORTED int lockswap_rwlock_init(pthread_rwlock_t* l, const pthread_rwlockattr_t* a) {
  return active_rwlock.init(l, a);
}
LOCKSWAP_EXPORTED int lockswap_rwlock_destroy(pthread_rwlock_t* l) {
  probes::rwlock_destroy(l);
  return active_rwlock.destroy(l);
}
LOCKSWAP_EXPORTED int lockswap_rwlock_rdlock(pthread_rwlock_t* l) {
  probes::rdlock_entry(l);
  return active_rwlock.rdlock(l);
}
LOCKSWAP_EXPORTED int lockswap_rwlock_tryrdlock(pthread_rwlock_t* l) {
  return active_rwlock.tryrdlock(l);
}
LOCKSWAP_EXPORTED int lockswap_rwlock_timedrdlock(pthread_rwlock_t* l, const timespec* at) {
  probes::rdlock_entry(l);
  return active_rwlock.timedrdlock(l, at);
}
LOCKSWAP_EXPORTED int lockswap_rwlock_clockrdlock(pthread_rwlock_t* l, clockid_t clock,
                                                  const timespec* at) {
  probes::rdlock_entry(l);
  return active_rwlock.clockrdlock(l, clock, at);
}
LOCKSWAP_EXPORTED int lockswap_rwlock_wrlock(pthread_rwlock_t* l) {
  probes::wrlock_entry(l);
  return active_rwlock.wrlock(l);
}
LOCKSWAP_EXPORTED int lockswap_rwlock_trywrlock(pthread_rwlock_t* l) {
  return active_rwlock.trywrlock(l);
}
LOCKSWAP_EXPORTED int lockswap_rwlock_timedwrlock(pthread_rwlock_t* l, const timespec* at) {
  probes::wrlock_entry(l);
  return active_rwlock.timedwrlock(l, at);
}
LOCKSWAP_EXPORTED int lockswap_rwlock_clockwrlock(pthread_rwlock_t* l, clockid_t clock,
                                                  const timespec* at) {
  probes::wrlock_entry(l);
  return active_rwlock.clockwrlock(l, clock, at);
}
LOCKSWAP_EXPORTED int lockswap_rwlock_unlock(pthread_rwlock_t* l) {
  probes::rwlock_unlock(l);
  return active_rwlock.unlock(l);
}

}  // extern "C"

LOCKSWAP_SYMBOLS(lockswap_rwlock_init)
LOCKSWAP_SYMBOLS(lockswap_rwlock_destroy)
LOCKSWAP_SYMBOLS(lockswap_rwlock_rdlock)
LOCKSWAP_SYMBOLS(lockswap_rwlock_tryrdlock)
LOCKSWAP_SYMBOLS(lockswap_rwlock_timedrdlock)
LOCKSWAP_SYMBOLS(lockswap_rwlock_clockrdlock)
LOCKSWAP_SYMBOLS(lockswap_rwlock_wrlock)
LOCKSWAP_SYMBOLS(lockswap_rwlock_trywrlock)
LOCKSWAP_SYMBOLS(lockswap_rwlock_timedwrlock)
LOCKSWAP_SYMBOLS(lockswap_rwlock_clockwrlock)
LOCKSWAP_SYMBOLS(lockswap_rwlock_unlock)
