// A race that shows in one order alone: four threads wait, and the program is wrong if the last one
// that came is the first that goes on, and the first one the last.
// They wait for a mutex which a fifth has, or (`turns signal`) for a condition variable that is
// signalled four times. Sleeping waiters of glibc's mutex wake in the order in which they came.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/syscall.h>

enum { kWaiters = 4 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int order[kWaiters], allowed = kWaiters;
static atomic_int came, ids[kWaiters];

// Waits until that thread sleeps in a futex call: what it waits for is the mutex or the condition
// variable then, however busy the machine is. A delay of fuzz is another system call or none.
static void until_it_sleeps(size_t number) {
  char path[64], call[32] = "";
  while (ids[number] == 0)
    usleep(1000);
  snprintf(path, sizeof path, "/proc/self/task/%d/syscall", ids[number]);
  for (long seen = -1; seen != SYS_futex; usleep(1000)) {
    FILE* file = fopen(path, "r");
    if (file == NULL) continue;
    seen = fgets(call, sizeof call, file) != NULL ? strtol(call, NULL, 10) : -1;
    fclose(file);
  }
}

static void* queue(void* number) {
  ids[(size_t)number] = (int)syscall(SYS_gettid);
  pthread_mutex_lock(&m);
  while (allowed == 0)
    pthread_cond_wait(&c, &m);
  --allowed;
  order[came++] = (int)(size_t)number;
  pthread_mutex_unlock(&m);
  return NULL;
}

int main(int argc, char** argv) {
  const int signals = argc > 1 && strcmp(argv[1], "signal") == 0;
  pthread_t t[kWaiters];
  pthread_mutex_lock(&m);
  if (signals) {
    allowed = 0;
    pthread_mutex_unlock(&m);
  }
  for (size_t i = 0; i < kWaiters; ++i) {
    pthread_create(&t[i], NULL, queue, (void*)i);
    until_it_sleeps(i);
  }
  if (!signals) pthread_mutex_unlock(&m);
  for (int i = 0; signals && i < kWaiters; ++i) {
    pthread_mutex_lock(&m);
    ++allowed;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    while (came <= i)
      usleep(1000);
  }
  for (int i = 0; i < kWaiters; ++i)
    pthread_join(t[i], NULL);
  if (order[0] == kWaiters - 1 && order[kWaiters - 1] == 0) abort();
  puts("done");
  return 0;
}
