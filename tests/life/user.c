// A library with a lock of its own, built under two names. It is loaded by dlopen, with
// RTLD_DEEPBIND, by dlmopen, or into the place where its other copy has been.
#include <errno.h>
#include <pthread.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT pthread_rwlock_t user_lock = PTHREAD_RWLOCK_INITIALIZER;

// 0: it works as locks do.
EXPORT int user_works(void) {
  for (int i = 0; i < 200; ++i) {
    if (pthread_rwlock_rdlock(&user_lock) != 0) return 1;
    if (pthread_rwlock_trywrlock(&user_lock) != EBUSY) return 2;
    if (pthread_rwlock_unlock(&user_lock) != 0) return 3;
    if (pthread_rwlock_trywrlock(&user_lock) != 0) return 4;
    if (pthread_rwlock_tryrdlock(&user_lock) != EBUSY) return 5;
    if (pthread_rwlock_unlock(&user_lock) != 0) return 6;
  }
  return 0;
}

// Leaves read holds behind.
EXPORT int user_leaves_held(int reads) {
  for (int i = 0; i < reads; ++i)
    if (pthread_rwlock_rdlock(&user_lock) != 0 || pthread_rwlock_unlock(&user_lock) != 0) return 1;
  return pthread_rwlock_rdlock(&user_lock);
}
