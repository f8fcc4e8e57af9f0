// The exported functions of semaphores, barriers and joins, one line each. They call glibc's own,
// or the profile's if there is one. See rwlock.cpp.

#include <pthread.h>
#include <semaphore.h>

#include "interpose/exports.h"
#include "interpose/start.h"

using lockswap::active_waits;

extern "C" {

LOCKSWAP_EXPORTED int lockswap_sem_init(sem_t* s, int shared, unsigned value) {
  return active_waits.sem_init(s, shared, value);
}
LOCKSWAP_EXPORTED int lockswap_sem_destroy(sem_t* s) { return active_waits.sem_destroy(s); }
LOCKSWAP_EXPORTED int lockswap_sem_wait(sem_t* s) { return active_waits.sem_wait(s); }
LOCKSWAP_EXPORTED int lockswap_sem_trywait(sem_t* s) { return active_waits.sem_trywait(s); }
LOCKSWAP_EXPORTED int lockswap_sem_timedwait(sem_t* s, const timespec* at) {
  return active_waits.sem_timedwait(s, at);
}
LOCKSWAP_EXPORTED int lockswap_sem_clockwait(sem_t* s, clockid_t clock, const timespec* at) {
  return active_waits.sem_clockwait(s, clock, at);
}
LOCKSWAP_EXPORTED int lockswap_sem_post(sem_t* s) { return active_waits.sem_post(s); }
LOCKSWAP_EXPORTED int lockswap_barrier_init(pthread_barrier_t* b, const pthread_barrierattr_t* a,
                                            unsigned count) {
  return active_waits.barrier_init(b, a, count);
}
LOCKSWAP_EXPORTED int lockswap_barrier_destroy(pthread_barrier_t* b) {
  return active_waits.barrier_destroy(b);
}
LOCKSWAP_EXPORTED int lockswap_barrier_wait(pthread_barrier_t* b) {
  return active_waits.barrier_wait(b);
}
LOCKSWAP_EXPORTED int lockswap_join(pthread_t thread, void** result) {
  return active_waits.join(thread, result);
}

}  // extern "C"

LOCKSWAP_SYMBOLS(lockswap_sem_init)
LOCKSWAP_SYMBOLS(lockswap_sem_destroy)
LOCKSWAP_SYMBOLS(lockswap_sem_wait)
LOCKSWAP_SYMBOLS(lockswap_sem_trywait)
LOCKSWAP_SYMBOLS(lockswap_sem_timedwait)
LOCKSWAP_SYMBOLS(lockswap_sem_clockwait)
LOCKSWAP_SYMBOLS(lockswap_sem_post)
LOCKSWAP_SYMBOLS(lockswap_barrier_init)
LOCKSWAP_SYMBOLS(lockswap_barrier_destroy)
LOCKSWAP_SYMBOLS(lockswap_barrier_wait)
LOCKSWAP_SYMBOLS(lockswap_join)
