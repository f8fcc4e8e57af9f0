// Two threads take a mutex through some calls: the stacks of their waits are known.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

// Not the last thing that a function does, or it would have no frame.
#define STAYS __asm__ volatile("" ::: "memory")

__attribute__((noinline, noclone)) void inner(void) {
  pthread_mutex_lock(&mutex);
  usleep(2000);
  pthread_mutex_unlock(&mutex);
  STAYS;
}

// Its frame lies where no frame pointer leads: the size is not known before.
__attribute__((noinline, noclone)) void middle(int size) {
  volatile char bytes[size];
  bytes[size - 1] = 0;
  inner();
  STAYS;
}

__attribute__((noinline, noclone)) void outer(void) {
  volatile char bytes[40000];  // more than an immediate operand takes
  bytes[0] = 0;
  middle(100 + bytes[0]);
  STAYS;
}

static void* work(void* unused) {
  for (int i = 0; i < 100; ++i)
    outer();
  return unused;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i)
    if (pthread_create(&threads[i], NULL, work, NULL) != 0) return 1;
  for (int i = 0; i < 2; ++i)
    pthread_join(threads[i], NULL);
  puts("done");
  return 0;
}
