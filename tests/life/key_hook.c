/* Preloaded behind lockswap: the next thread that sets a key's value first calls a function of the
   program's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>

void (*key_hook)(void);

int pthread_setspecific(pthread_key_t key, const void* value) {
  int (*next)(pthread_key_t, const void*) =
      (int (*)(pthread_key_t, const void*))dlsym(RTLD_NEXT, "pthread_setspecific");
  void (*const hook)(void) = __atomic_exchange_n(&key_hook, NULL, __ATOMIC_ACQ_REL);
  if (hook != NULL) hook();
  return next(key, value);
}
