// What threads do that wait behind a hold which lasts.
//
//   idle THREADS SETTLE_ms SECONDS    the main thread holds a mutex, one rwlock for writing and one
//                                     for reading. THREADS threads wait for the mutex, as many to
//                                     read and as many to write behind the write hold, as many to
//                                     write behind the read hold
//
// Prints a line for each of the four, SETTLE_ms milliseconds after they first slept: how often they
// fell asleep in the SECONDS after that, all of them together and the one that did so most; and how
// many seconds there were, which is more where others have the processors.
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#include "../asleep.h"
#include "common.h"

enum { kKinds = 4, kMost = 1000 };
static const char* const kNames[kKinds] = {"mutex", "read", "write", "write-behind-reader"};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t written = PTHREAD_RWLOCK_INITIALIZER,
                        read_held = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int tids[kKinds][kMost];
static struct waiter { int kind, number; } waiters[kKinds][kMost];

static void* wait_for_lock(void* p) {
  const struct waiter* w = p;
  pthread_rwlock_t* const lock = w->kind == 3 ? &read_held : &written;
  atomic_store(&tids[w->kind][w->number], gettid());
  if (w->kind == 0) {
    NEED(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0);
  } else {
    NEED((w->kind == 1 ? pthread_rwlock_rdlock(lock) : pthread_rwlock_wrlock(lock)) == 0);
    NEED(pthread_rwlock_unlock(lock) == 0);
  }
  return NULL;
}

static long sleeps_of(int tid) {
  char name[64], text[4096] = "";
  snprintf(name, sizeof name, "/proc/self/task/%d/status", tid);
  const int fd = open(name, O_RDONLY | O_CLOEXEC);
  NEED(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
  close(fd);
  static const char kWord[] = "\nvoluntary_ctxt_switches:\t";
  const char* const found = strstr(text, kWord);
  NEED(found != NULL);
  return strtol(found + sizeof kWord - 1, NULL, 10);
}
static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
static void until_asleep(atomic_int* tid) {
  while (atomic_load(tid) == 0 || !is_asleep(*tid))
    sleep_ms(2);
}

int main(int argc, char** argv) {
  const int threads = argc == 4 ? atoi(argv[1]) : 0;
  if (threads < 1 || threads > kMost) {
    fprintf(stderr, "usage: idle THREADS SETTLE_ms SECONDS\n");
    return 2;
  }
  static pthread_t all[kKinds][kMost];
  static long before[kKinds][kMost];
  NEED(pthread_mutex_lock(&mutex) == 0 && pthread_rwlock_wrlock(&written) == 0);
  NEED(pthread_rwlock_rdlock(&read_held) == 0);
  for (int k = 0; k < kKinds; ++k) {
    for (int i = 0; i < threads; ++i) {
      waiters[k][i] = (struct waiter){k, i};
      all[k][i] = start_thread(wait_for_lock, &waiters[k][i]);
    }
  }
  for (int k = 0; k < kKinds; ++k)
    for (int i = 0; i < threads; ++i)
      until_asleep(&tids[k][i]);
  sleep_ms(atol(argv[2]));
  for (int k = 0; k < kKinds; ++k)
    for (int i = 0; i < threads; ++i)
      before[k][i] = sleeps_of(tids[k][i]);
  const double start = seconds();
  sleep_ms(1000 * atol(argv[3]));
  for (int k = 0; k < kKinds; ++k) {
    long sum = 0, most = 0;
    for (int i = 0; i < threads; ++i) {
      const long sleeps = sleeps_of(tids[k][i]) - before[k][i];
      sum += sleeps;
      if (sleeps > most) most = sleeps;
    }
    printf("%s %ld %ld %.1f\n", kNames[k], sum, most, seconds() - start);
  }
  NEED(pthread_rwlock_unlock(&read_held) == 0 && pthread_rwlock_unlock(&written) == 0);
  NEED(pthread_mutex_unlock(&mutex) == 0);
  for (int k = 0; k < kKinds; ++k)
    for (int i = 0; i < threads; ++i)
      NEED(pthread_join(all[k][i], NULL) == 0);
  return 0;
}
