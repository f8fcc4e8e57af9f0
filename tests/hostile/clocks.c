// CLOCK_REALTIME is set while threads wait.
//
//   clocks back CLOCK    a reader holds the lock until a second one has had it, and a writer waits
//                        between the two. CLOCK is realtime, monotonic or none: the deadline of the
//                        second one, which is an hour away when the clock goes back by an hour. It
//                        comes in soon under every lock, since the first one needs it
//   clocks forward       a reader waits behind a write hold, and its deadline is an hour away. Then
//                        the clock goes forward by an hour: the reader's time is over
//
// What the process sees of the clock is set here, in this program's own clock_gettime; the kernel's
// clock stays as it is. So what the library takes from the one for a sleep by the other one shows:
// a time of its own that runs on CLOCK_REALTIME lasts for an hour, which is a hang.
#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#include <sys/syscall.h>

#include "../asleep.h"
#include "common.h"

enum { kHour = 3600 };

static atomic_long ahead;  // seconds

int clock_gettime(clockid_t clock, struct timespec* t) {
  const long error = syscall(SYS_clock_gettime, clock, t);
  if (error == 0 && clock == CLOCK_REALTIME) t->tv_sec += atomic_load(&ahead);
  return (int)error;
}

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static const char* deadline_by;
static atomic_int waiting;

static int read_in_time(void) {
  if (strcmp(deadline_by, "none") == 0) return pthread_rwlock_rdlock(&lock);
  const clockid_t clock = strcmp(deadline_by, "realtime") == 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  struct timespec t;
  clock_gettime(clock, &t);
  t.tv_sec += kHour;
  return pthread_rwlock_clockrdlock(&lock, clock, &t);
}
static void* write_once(void* p) {
  atomic_store(&waiting, gettid());
  NEED(pthread_rwlock_wrlock(&lock) == 0 && pthread_rwlock_unlock(&lock) == 0);
  return p;
}
static void* read_once(void* want) {
  atomic_store(&waiting, gettid());
  const int error = read_in_time();
  NEED(error == (int)(long)want);
  if (error == 0) NEED(pthread_rwlock_unlock(&lock) == 0);
  return NULL;
}

static pthread_t asleep(void* (*body)(void*), void* argument) {
  const pthread_t thread = start_thread(body, argument);
  int tid;
  while ((tid = atomic_load(&waiting)) == 0 || !is_asleep(tid))
    sleep_ms(1);
  atomic_store(&waiting, 0);
  return thread;
}

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "back") == 0) {
    deadline_by = argv[2];
    NEED(pthread_rwlock_rdlock(&lock) == 0);
    const pthread_t writer = asleep(write_once, NULL);
    // What was read before the step is an hour later than what the kernel goes by.
    atomic_store(&ahead, kHour);
    const pthread_t second = start_thread(read_once, NULL);
    NEED(pthread_join(second, NULL) == 0);
    NEED(pthread_rwlock_unlock(&lock) == 0 && pthread_join(writer, NULL) == 0);
  } else if (argc == 2 && strcmp(argv[1], "forward") == 0) {
    deadline_by = "realtime";
    NEED(pthread_rwlock_wrlock(&lock) == 0);
    const pthread_t reader = asleep(read_once, (void*)(long)ETIMEDOUT);
    atomic_store(&ahead, kHour);
    NEED(pthread_join(reader, NULL) == 0 && pthread_rwlock_unlock(&lock) == 0);
  } else {
    fprintf(stderr, "usage: clocks back realtime|monotonic|none, or clocks forward\n");
    return 2;
  }
  return 0;
}
