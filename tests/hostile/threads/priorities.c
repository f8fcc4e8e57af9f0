// Which thread gets a lock next, of those that wait with real-time priorities.
//
//   priorities KIND    three threads of SCHED_FIFO wait for a lock that is held, the lowest first;
//                      KIND is mutex, or write: an rwlock, to write. Prints the order in which they
//                      got it, as in "3 2 1"; 3 is the highest priority
//   priorities read POLICY READER WRITER MS
//                      a writer of the priority WRITER waits for a reader, and then a reader of the
//                      priority READER comes; 0 is the lowest. POLICY is fifo, rr, or other, which
//                      has no priorities. Prints "in" when the second reader is in while the first
//                      one stays, or "waits" if that has not come after MS milliseconds
//
// Status 77: such policies are not allowed here.
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
#include "../../expect.h"

enum { kThreads = 3 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static int is_mutex;
static atomic_int waiting;  // the kernel's id of the thread that is about to
static int order[kThreads], n;
static atomic_int is_in;

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

static void* read_once(void* unused) {
  atomic_store(&waiting, gettid());
  EXPECT(0, pthread_rwlock_rdlock(&rwlock));
  atomic_store(&is_in, 1);
  EXPECT(0, pthread_rwlock_unlock(&rwlock));
  return unused;
}

// The status if the thread can't have that policy, else 0.
static int start(pthread_t* thread, void* (*body)(void*), void* argument, int policy,
                 int priority) {
  const int lowest = sched_get_priority_min(policy);
  const struct sched_param p = {.sched_priority = policy == SCHED_OTHER ? 0 : lowest + priority};
  pthread_attr_t a;
  EXPECT(0, pthread_attr_init(&a));
  EXPECT(0, pthread_attr_setinheritsched(&a, PTHREAD_EXPLICIT_SCHED));
  EXPECT(0, pthread_attr_setschedpolicy(&a, policy));
  EXPECT(0, pthread_attr_setschedparam(&a, &p));
  const int error = pthread_create(thread, &a, body, argument);
  if (error == EPERM) return 77;
  EXPECT(0, error);
  while (atomic_load(&waiting) == 0)
    nap();
  return 0;
}
// A spinning waiter would be awake: LOCKSWAP_WAIT=park.
static void until_asleep(void) {
  while (!is_asleep(atomic_load(&waiting)))
    nap();
  atomic_store(&waiting, 0);
}

static int read_beside_a_writer(char** argv) {
  const int policy = strcmp(argv[0], "fifo") == 0 ? SCHED_FIFO
                     : strcmp(argv[0], "rr") == 0 ? SCHED_RR
                                                  : SCHED_OTHER;
  pthread_t writer, reader;
  EXPECT(0, pthread_rwlock_rdlock(&rwlock));
  int status = start(&writer, get, NULL, policy, atoi(argv[2]));
  if (status != 0) return status;
  until_asleep();
  status = start(&reader, read_once, NULL, policy, atoi(argv[1]));
  if (status != 0) return status;
  for (long ms = atol(argv[3]); ms > 0 && !atomic_load(&is_in); --ms)
    nap();
  puts(atomic_load(&is_in) ? "in" : "waits");
  EXPECT(0, pthread_rwlock_unlock(&rwlock));
  EXPECT(0, pthread_join(writer, NULL));
  EXPECT(0, pthread_join(reader, NULL));
  return 0;
}

int main(int argc, char** argv) {
  if (argc == 6 && strcmp(argv[1], "read") == 0) return read_beside_a_writer(argv + 2);
  is_mutex = argc == 2 && strcmp(argv[1], "mutex") == 0;
  if (!is_mutex && (argc != 2 || strcmp(argv[1], "write") != 0)) {
    fprintf(stderr, "usage: priorities mutex|write, or priorities read POLICY READER WRITER MS\n");
    return 2;
  }
  pthread_t threads[kThreads];
  lock();
  for (int i = 0; i < kThreads; ++i) {
    const int status = start(&threads[i], get, (void*)(long)(i + 1), SCHED_FIFO, i);
    if (status != 0) return status;
    until_asleep();
  }
  unlock();
  for (int i = 0; i < kThreads; ++i)
    EXPECT(0, pthread_join(threads[i], NULL));
  printf("%d %d %d\n", order[0], order[1], order[2]);
  return 0;
}
