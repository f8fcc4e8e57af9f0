// A library that replaces the clock, as libfaketime does: its first call makes locks and uses them,
// wherever that call comes from. So it may come from inside of the start of a lock library.
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/syscall.h>

#define NEED(condition)                                    \
  do {                                                     \
    static const char text[] = "not so: " #condition "\n"; \
    if (!(condition)) {                                    \
      (void)!write(STDERR_FILENO, text, sizeof text - 1);  \
      _exit(1);                                            \
    }                                                      \
  } while (0)

static pthread_rwlock_t rwlock;
static pthread_mutex_t mutex;
static pthread_cond_t cond;
static sem_t semaphore;

static void use_locks(void) {
  NEED(pthread_rwlock_rdlock(&rwlock) == 0 && pthread_rwlock_unlock(&rwlock) == 0);
  NEED(pthread_rwlock_wrlock(&rwlock) == 0 && pthread_rwlock_unlock(&rwlock) == 0);
  NEED(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_lock(&mutex) == 0);
  NEED(pthread_mutex_unlock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0);
  NEED(pthread_cond_signal(&cond) == 0 && pthread_cond_broadcast(&cond) == 0);
  NEED(sem_post(&semaphore) == 0 && sem_wait(&semaphore) == 0);
}

// Their bytes are anything, as those of memory from malloc.
static void make_locks(void) {
  memset(&rwlock, 0x5a, sizeof rwlock);
  memset(&mutex, 0x5a, sizeof mutex);
  memset(&cond, 0x5a, sizeof cond);
  memset(&semaphore, 0x5a, sizeof semaphore);
  pthread_mutexattr_t recursive;
  NEED(pthread_mutexattr_init(&recursive) == 0);
  NEED(pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE) == 0);
  NEED(pthread_rwlock_init(&rwlock, NULL) == 0);
  NEED(pthread_mutex_init(&mutex, &recursive) == 0);
  NEED(pthread_cond_init(&cond, NULL) == 0);
  NEED(sem_init(&semaphore, 0, 0) == 0);
  use_locks();
}

int clock_gettime(clockid_t clock, struct timespec* t) {
  static int is_made;
  if (!is_made) {
    is_made = 1;
    make_locks();
  }
  return (int)syscall(SYS_clock_gettime, clock, t);
}

// After the start, too.
__attribute__((destructor)) static void at_the_end(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  use_locks();
  NEED(pthread_rwlock_trywrlock(&rwlock) == 0 && pthread_rwlock_unlock(&rwlock) == 0);
  NEED(pthread_rwlock_destroy(&rwlock) == 0 && pthread_mutex_destroy(&mutex) == 0);
  NEED(pthread_cond_destroy(&cond) == 0 && sem_destroy(&semaphore) == 0);
}
