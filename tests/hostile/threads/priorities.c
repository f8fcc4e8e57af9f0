// Which thread gets a lock next, of those that wait with real-time priorities.
//
//   priorities KIND    three threads of SCHED_FIFO wait for a lock that is held, the lowest first;
//                      KIND is mutex, or write: an rwlock, to write
//
// Prints the order in which they got it, as in "3 2 1"; 3 is the highest priority. Status 77: such
// policies are not allowed here.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../asleep.h"

#define EXPECT(value, call)                                               \
  do {                                                                    \
    const int got = (call);                                               \
    if (got != (value)) {                                                 \
      fprintf(stderr, "line %d: %s returned %d\n", __LINE__, #call, got); \
      exit(1);                                                            \
    }                                                                     \
  } while (0)

enum { kThreads = 3 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static int is_mutex;
static atomic_int waiting;  // the kernel's id of the thread that is about to
static int order[kThreads], n;

static void lock(void) {
  EXPECT(0, is_mutex ? pthread_mutex_lock(&mutex) : pthread_rwlock_wrlock(&rwlock));
}
static void unlock(void) {
  EXPECT(0, is_mutex ? pthread_mutex_unlock(&mutex) : pthread_rwlock_unlock(&rwlock));
}
static void nap(void) {
  const struct timespec moment = {0, 1000 * 1000};
  nanosleep(&moment, NULL);
}

static void* get(void* number) {
  atomic_store(&waiting, gettid());
  lock();
  order[n++] = (int)(long)number;
  unlock();
  return NULL;
}

int main(int argc, char** argv) {
  is_mutex = argc == 2 && strcmp(argv[1], "mutex") == 0;
  if (!is_mutex && (argc != 2 || strcmp(argv[1], "write") != 0)) {
    fprintf(stderr, "usage: priorities mutex|write\n");
    return 2;
  }
  pthread_t threads[kThreads];
  lock();
  for (int i = 0; i < kThreads; ++i) {
    const struct sched_param p = {.sched_priority = sched_get_priority_min(SCHED_FIFO) + i};
    pthread_attr_t a;
    EXPECT(0, pthread_attr_init(&a));
    EXPECT(0, pthread_attr_setinheritsched(&a, PTHREAD_EXPLICIT_SCHED));
    EXPECT(0, pthread_attr_setschedpolicy(&a, SCHED_FIFO));
    EXPECT(0, pthread_attr_setschedparam(&a, &p));
    const int error = pthread_create(&threads[i], &a, get, (void*)(long)(i + 1));
    if (error == EPERM) return 77;
    EXPECT(0, error);
    while (atomic_load(&waiting) == 0)
      nap();
    // A spinning waiter would be awake: LOCKSWAP_WAIT=park.
    while (!is_asleep(atomic_load(&waiting)))
      nap();
    atomic_store(&waiting, 0);
  }
  unlock();
  for (int i = 0; i < kThreads; ++i)
    EXPECT(0, pthread_join(threads[i], NULL));
  printf("%d %d %d\n", order[0], order[1], order[2]);
  return 0;
}
