// A program without threads, which takes a lock as libraries do, and then opens a library that has
// some.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

int main(int count, char** words) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  void* library = dlopen(count > 1 ? words[1] : "", RTLD_NOW);
  if (library == NULL) {
    fprintf(stderr, "late: %s\n", dlerror());
    return 2;
  }
  return ((int (*)(void))dlsym(library, "use_threads"))();
}
