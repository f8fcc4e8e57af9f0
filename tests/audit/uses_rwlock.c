// A library that takes a lock, for dlopen.
#include <pthread.h>

void use_a_lock(void);
void use_a_lock(void) {
  static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  pthread_rwlock_wrlock(&lock);
  pthread_rwlock_unlock(&lock);
}
