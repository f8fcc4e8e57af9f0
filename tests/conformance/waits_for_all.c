// glibc's lock, but its writers wait for the readers of all locks while these have many holds: a
// fault that a case must find. Few holds do no harm, for the test program has some from its start.
//
// They sleep, since a thread that yields uses hardly any processor time on a busy machine, by which
// the run judges that a case hangs.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include <linux/futex.h>
#include <sys/syscall.h>

static atomic_int readers;
static const int kMany = 20;

#define REAL(name, ...) ((int (*)(__VA_ARGS__))dlsym(RTLD_NEXT, "pthread_rwlock_" #name))

static int counted(int error) {
  if (error == 0) atomic_fetch_add(&readers, 1);
  return error;
}

int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  return counted(REAL(rdlock, pthread_rwlock_t*)(lock));
}
int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) {
  return counted(REAL(tryrdlock, pthread_rwlock_t*)(lock));
}
int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const struct timespec* abstime) {
  return counted(REAL(timedrdlock, pthread_rwlock_t*, const struct timespec*)(lock, abstime));
}
int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clockid,
                               const struct timespec* abstime) {
  return counted(REAL(clockrdlock, pthread_rwlock_t*, clockid_t, const struct timespec*)(
      lock, clockid, abstime));
}

int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  for (int n; (n = atomic_load(&readers)) >= kMany;)
    syscall(SYS_futex, &readers, FUTEX_WAIT_PRIVATE, n, NULL);
  return REAL(wrlock, pthread_rwlock_t*)(lock);
}

int pthread_rwlock_unlock(pthread_rwlock_t* lock) {
  if (lock->__data.__cur_writer == 0 && atomic_fetch_sub(&readers, 1) == kMany)
    syscall(SYS_futex, &readers, FUTEX_WAKE_PRIVATE, INT_MAX);
  return REAL(unlock, pthread_rwlock_t*)(lock);
}
