// Writes over its arguments and its environment, as programs do that set their title (redis,
// nginx), and takes a lock.
#include <pthread.h>
#include <string.h>

extern char** environ;

int main(int argc, char** argv) {
  static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  for (char** e = environ; *e != NULL; ++e)
    memset(*e, 'x', strlen(*e));
  for (int i = 0; i < argc; ++i)
    memset(argv[i], 'x', strlen(argv[i]));
  environ = NULL;
  pthread_rwlock_rdlock(&lock);
  return pthread_rwlock_unlock(&lock);
}
