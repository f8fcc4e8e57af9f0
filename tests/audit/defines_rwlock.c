// A program with reader-writer locks of its own under glibc's names.
#include <pthread.h>
#include <stdio.h>

int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  (void)lock;
  return 0;
}

int main(void) {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  puts(pthread_rwlock_rdlock(&lock) == 0 ? "done" : "failed");
  return 0;
}
