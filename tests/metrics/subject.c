/* Takes locks as its words say, so that what is counted of it is known.
 *
 *   metrics_subject [WORD...]   each word is one of the table at the end
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/wait.h>

#include "../asleep.h"

enum { kWaits = 5, kCounted = 200000, kMany = 10000, kStatic = 300 };

static pthread_mutex_t waited = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t counted = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t of_child = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t tried = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t written = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t each[kStatic];
static char** arguments;

static void sleep_ms(long ms) {
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

/* A thread that waits kWaits times for a lock which main holds meanwhile. */
struct waiter {
  void (*acquire)(void);
  void (*release)(void);
  atomic_int tid, comes, calls, has;
};

static void* wait_for_each(void* argument) {
  struct waiter* w = argument;
  atomic_store(&w->tid, gettid());
  w->acquire(); /* the first call of a lock is not timed */
  w->release();
  atomic_store(&w->has, 1);
  for (int n = 0; n < kWaits; ++n) {
    while (atomic_load(&w->comes) <= n)
      sleep_ms(1);
    atomic_store(&w->calls, n + 1);
    w->acquire();
    w->release();
    atomic_store(&w->has, n + 2);
  }
  return NULL;
}

static void keep_waiting(void (*hold)(void), void (*acquire)(void), void (*release)(void)) {
  struct waiter w = {.acquire = acquire, .release = release};
  pthread_t thread;
  pthread_create(&thread, NULL, wait_for_each, &w);
  for (int n = 0; n < kWaits; ++n) {
    while (atomic_load(&w.has) <= n)
      sleep_ms(1);
    hold();
    atomic_store(&w.comes, n + 1);
    while (atomic_load(&w.calls) <= n || !is_asleep(atomic_load(&w.tid)))
      sleep_ms(1);
    sleep_ms(30);
    release();
  }
  pthread_join(thread, NULL);
}

static void lock_waited(void) { pthread_mutex_lock(&waited); }
static void unlock_waited(void) { pthread_mutex_unlock(&waited); }
static void mutex_waits(void) { keep_waiting(lock_waited, lock_waited, unlock_waited); }

static void read_shared(void) { pthread_rwlock_rdlock(&shared); }
static void write_shared(void) { pthread_rwlock_wrlock(&shared); }
static void unlock_shared(void) { pthread_rwlock_unlock(&shared); }
static void read_waits(void) { keep_waiting(write_shared, read_shared, unlock_shared); }

static void read_written(void) { pthread_rwlock_rdlock(&written); }
static void write_written(void) { pthread_rwlock_wrlock(&written); }
static void unlock_written(void) { pthread_rwlock_unlock(&written); }
static void write_waits(void) { keep_waiting(read_written, write_written, unlock_written); }

static void count(void) {
  for (int i = 0; i < kCounted; ++i) {
    pthread_mutex_lock(&counted);
    pthread_mutex_unlock(&counted);
  }
}

static void* try_and_time_out(void* nothing) {
  struct timespec at;
  for (int i = 0; i < kWaits; ++i) {
    pthread_mutex_trylock(&tried);
    clock_gettime(CLOCK_REALTIME, &at);
    pthread_mutex_timedlock(&tried, &at);
    sleep_ms(1);
  }
  return nothing;
}
static void fail(void) {
  pthread_mutex_lock(&tried);
  pthread_t thread;
  pthread_create(&thread, NULL, try_and_time_out, NULL);
  pthread_join(thread, NULL);
  pthread_mutex_unlock(&tried);
}

static void hold(void) {
  pthread_mutex_lock(&counted);
  pthread_mutex_unlock(&counted);
  for (int i = 0; i < kWaits; ++i) {
    sleep_ms(1);
    pthread_mutex_lock(&counted);
    sleep_ms(30);
    pthread_mutex_unlock(&counted);
  }
}

static void many(void) {
  pthread_mutex_t* all = malloc(kMany * sizeof *all);
  for (int i = 0; i < kMany; ++i)
    pthread_mutex_init(&all[i], NULL);
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < kMany; ++i) {
      pthread_mutex_lock(&all[i]);
      pthread_mutex_unlock(&all[i]);
    }
  }
}

static void more_than_fit(void) {
  for (int i = 0; i < kStatic; ++i) {
    sleep_ms(1); /* so each is looked at */
    pthread_mutex_lock(&each[i]);
    pthread_mutex_unlock(&each[i]);
  }
}

static void take_in_child(void) {
  pthread_mutex_lock(&of_child);
  pthread_mutex_unlock(&of_child);
}

static void in_child(void) {
  const pid_t child = fork();
  if (child == 0) {
    take_in_child();
    exit(0);
  }
  waitpid(child, NULL, 0);
}

static void without_a_lock_in_child(void) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, NULL, 0);
}

static void execute(void) { execl("/proc/self/exe", arguments[0], "child", NULL); }

static void change_root(void) {
  char folder[] = "/tmp/metrics_rootXXXXXX";
  if (mkdtemp(folder) == NULL || chroot(folder) != 0) exit(77);
}

static void say(void) { puts("ready"), fflush(stdout); }
static void wait_for_signal(void) { say(), pause(); }
static int first_has_ended(void) {
  char state = 0;
  FILE* const file = fopen("/proc/self/stat", "r");
  if (file != NULL && fscanf(file, "%*d (%*[^)]) %c", &state) != 1) state = 0;
  if (file != NULL) fclose(file);
  return state == 'Z';
}
static void* say_later(void* unused) {
  while (!first_has_ended())
    sleep_ms(1);
  wait_for_signal();
  return unused;
}
static void leave_to_another(void) {
  pthread_t other;
  pthread_create(&other, NULL, say_later, NULL);
  pthread_exit(NULL);
}

static const struct {
  const char* word;
  void (*act)(void);
} kActs[] = {{"mutex", mutex_waits},
             {"read", read_waits},
             {"write", write_waits},
             {"count", count},
             {"fail", fail},
             {"hold", hold},
             {"many", many},
             {"more", more_than_fit},
             {"child", take_in_child},
             {"fork", in_child},
             {"idle", without_a_lock_in_child},
             {"exec", execute},
             {"chroot", change_root},
             {"pause", wait_for_signal},
             {"leave", leave_to_another}};

int main(int count_of_words, char** words) {
  arguments = words;
  for (int i = 1; i < count_of_words; ++i) {
    for (size_t n = 0; n < sizeof kActs / sizeof *kActs; ++n) {
      if (strcmp(words[i], kActs[n].word) == 0) kActs[n].act();
    }
  }
  return 0;
}
