// A race that shows in one order alone: four threads queue for a mutex while a fifth has it, and
// the program is wrong if the last that comes is the first that goes in, and the first that came
// the last. Sleeping waiters of glibc's mutex wake in the order in which they came.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { kWaiters = 4 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int order[kWaiters], came;

static void* queue(void* number) {
  pthread_mutex_lock(&m);
  order[came++] = (int)(size_t)number;
  pthread_mutex_unlock(&m);
  return NULL;
}

int main(void) {
  pthread_t t[kWaiters];
  pthread_mutex_lock(&m);
  for (size_t i = 0; i < kWaiters; ++i) {
    pthread_create(&t[i], NULL, queue, (void*)i);
    usleep(8000);  // longer than fuzz delays anybody
  }
  pthread_mutex_unlock(&m);
  for (int i = 0; i < kWaiters; ++i)
    pthread_join(t[i], NULL);
  if (order[0] == kWaiters - 1 && order[kWaiters - 1] == 0) abort();
  puts("done");
  return 0;
}
