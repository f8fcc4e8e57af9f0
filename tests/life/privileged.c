// Takes a mutex and a rwlock, and prints whether the kernel says that this program has more rights
// than its user (AT_SECURE).
#include <pthread.h>
#include <stdio.h>

#include <sys/auxv.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

static void* lock_all(void* unused) {
  pthread_mutex_lock(&mutex);
  pthread_rwlock_wrlock(&rwlock);
  pthread_rwlock_unlock(&rwlock);
  pthread_mutex_unlock(&mutex);
  return unused;
}

int main(void) {
  pthread_t thread;
  lock_all(NULL);
  if (pthread_create(&thread, NULL, lock_all, NULL) != 0) return 1;
  pthread_join(thread, NULL);
  printf("%lu\n", getauxval(AT_SECURE));
  return 0;
}
