// The exported condition variable functions: each is a probe and a line, once for each of the
// object's two layouts. See rwlock.cpp.

#include <pthread.h>

#include "interpose/exports.h"
#include "interpose/start.h"
#include "probes/probes.h"

using lockswap::active_cond;
using lockswap::active_old_cond;
namespace probes = lockswap::probes;

extern "C" {

LOCKSWAP_EXPORTED int lockswap_cond_init(pthread_cond_t* c, const pthread_condattr_t* a) {
  probes::cond_init(c, a);
  return active_cond.init(c, a);
}
LOCKSWAP_EXPORTED int lockswap_cond_destroy(pthread_cond_t* c) {
  probes::cond_destroy(c);
  return active_cond.destroy(c);
}
LOCKSWAP_EXPORTED int lockswap_cond_wait(pthread_cond_t* c, pthread_mutex_t* m) {
  probes::cond_wait(c, m);
  return active_cond.wait(c, m);
}
LOCKSWAP_EXPORTED int lockswap_cond_timedwait(pthread_cond_t* c, pthread_mutex_t* m,
                                              const timespec* at) {
  probes::cond_wait(c, m);
  return active_cond.timedwait(c, m, at);
}
LOCKSWAP_EXPORTED int lockswap_cond_clockwait(pthread_cond_t* c, pthread_mutex_t* m,
                                              clockid_t clock, const timespec* at) {
  probes::cond_wait(c, m);
  return active_cond.clockwait(c, m, clock, at);
}
LOCKSWAP_EXPORTED int lockswap_cond_signal(pthread_cond_t* c) {
  probes::cond_signal(c);
  return active_cond.signal(c);
}
LOCKSWAP_EXPORTED int lockswap_cond_broadcast(pthread_cond_t* c) {
  probes::cond_broadcast(c);
  return active_cond.broadcast(c);
}

#if defined(__x86_64__)
LOCKSWAP_EXPORTED int lockswap_old_cond_init(pthread_cond_t* c, const pthread_condattr_t* a) {
  probes::cond_init(c, a);
  return active_old_cond.init(c, a);
}
LOCKSWAP_EXPORTED int lockswap_old_cond_destroy(pthread_cond_t* c) {
  probes::cond_destroy(c);
  return active_old_cond.destroy(c);
}
LOCKSWAP_EXPORTED int lockswap_old_cond_wait(pthread_cond_t* c, pthread_mutex_t* m) {
  probes::cond_wait(c, m);
  return active_old_cond.wait(c, m);
}
LOCKSWAP_EXPORTED int lockswap_old_cond_timedwait(pthread_cond_t* c, pthread_mutex_t* m,
                                                  const timespec* at) {
  probes::cond_wait(c, m);
  return active_old_cond.timedwait(c, m, at);
}
LOCKSWAP_EXPORTED int lockswap_old_cond_signal(pthread_cond_t* c) {
  probes::cond_signal(c);
  return active_old_cond.signal(c);
}
LOCKSWAP_EXPORTED int lockswap_old_cond_broadcast(pthread_cond_t* c) {
  probes::cond_broadcast(c);
  return active_old_cond.broadcast(c);
}
#endif

}  // extern "C"

LOCKSWAP_SYMBOLS(lockswap_cond_init)
LOCKSWAP_SYMBOLS(lockswap_cond_destroy)
LOCKSWAP_SYMBOLS(lockswap_cond_wait)
LOCKSWAP_SYMBOLS(lockswap_cond_timedwait)
LOCKSWAP_SYMBOLS(lockswap_cond_signal)
LOCKSWAP_SYMBOLS(lockswap_cond_broadcast)
LOCKSWAP_SYMBOLS(lockswap_cond_clockwait)
#if defined(__x86_64__)
LOCKSWAP_SYMBOLS(lockswap_old_cond_init)
LOCKSWAP_SYMBOLS(lockswap_old_cond_destroy)
LOCKSWAP_SYMBOLS(lockswap_old_cond_wait)
LOCKSWAP_SYMBOLS(lockswap_old_cond_timedwait)
LOCKSWAP_SYMBOLS(lockswap_old_cond_signal)
LOCKSWAP_SYMBOLS(lockswap_old_cond_broadcast)
#endif
