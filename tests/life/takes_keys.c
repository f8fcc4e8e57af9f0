/* A library that takes the first keys of thread-specific data: those that need no memory
   elsewhere. */
#include <pthread.h>

__attribute__((constructor)) static void take(void) {
  pthread_key_t key;
  for (int i = 0; i < 40; ++i)
    pthread_key_create(&key, 0);
}
