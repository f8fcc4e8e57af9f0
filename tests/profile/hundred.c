// A hundred reader-writer locks, of which one hurts: it is mostly read, by readers whose holds
// overlap, so glibc's lets the one writer starve. Usage: hundred SECONDS. Prints "updates/s: N".
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define READERS 4
#define OTHERS 99

static pthread_rwlock_t hot = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t others[OTHERS];
static atomic_int over;
static long value;
static long updates;

static void hold(void) {
  for (volatile int i = 0; i < 300; ++i) {}
}

static void* read_all(void* number) {
  unsigned n = (unsigned)(size_t)number;
  while (!atomic_load_explicit(&over, memory_order_relaxed)) {
    pthread_rwlock_rdlock(&hot);
    hold();
    const long seen = value;
    pthread_rwlock_unlock(&hot);
    __asm__ volatile("" : : "r"(seen));
    pthread_rwlock_t* const other = &others[n++ % OTHERS];
    pthread_rwlock_wrlock(other);
    pthread_rwlock_unlock(other);
  }
  return NULL;
}

static void* write_some(void* unused) {
  while (!atomic_load_explicit(&over, memory_order_relaxed)) {
    const struct timespec pause = {0, 500000};
    nanosleep(&pause, NULL);
    pthread_rwlock_wrlock(&hot);
    ++value;
    pthread_rwlock_unlock(&hot);
    ++updates;
  }
  return unused;
}

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 1;
  pthread_t threads[READERS + 1];
  for (int i = 0; i < OTHERS; ++i)
    pthread_rwlock_init(&others[i], NULL);
  for (size_t i = 0; i < READERS; ++i)
    pthread_create(&threads[i], NULL, read_all, (void*)(i * 31));
  pthread_create(&threads[READERS], NULL, write_some, NULL);
  const struct timespec t = {(time_t)seconds, (long)((seconds - (double)(long)seconds) * 1e9)};
  nanosleep(&t, NULL);
  atomic_store(&over, 1);
  for (int i = 0; i <= READERS; ++i)
    pthread_join(threads[i], NULL);
  printf("updates/s: %.0f\n", (double)updates / seconds);
  return 0;
}
