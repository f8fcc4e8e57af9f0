// A library of locks that let every thread in, and do everything else that rwlock_stress asks for:
// its checks of exclusion must notice.
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

static _Thread_local pthread_rwlock_t* written;

int pthread_rwlock_rdlock(pthread_rwlock_t* lock) { return lock == written ? EDEADLK : 0; }
int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) { return lock == written ? EBUSY : 0; }
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  if (lock == written) return EDEADLK;
  written = lock;
  return 0;
}
int pthread_rwlock_unlock(pthread_rwlock_t* lock) {
  if (lock == written) written = NULL;
  return 0;
}
