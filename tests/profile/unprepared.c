// Programs that are looked at from outside, without the library. Usage: profile_unprepared CASE
//
// In each hot case threads take one lock by turns, and hold it for some time at the marked line.
// They run until they are killed. Lines that a test looks for carry a mark: "// NAME".
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/epoll.h>
#include <sys/wait.h>

#include "named_thread.h"

#define NOINLINE __attribute__((noinline, noclone))

enum { kHoldUs = 5000, kShortUs = 200 };

static pthread_mutex_t hot = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t mild = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_int is_held;
static int pipe_ends[2];

struct object {
  char name[24];
  pthread_mutex_t lock;
};
static struct object* object;

static void nap(long us) {
  const struct timespec t = {us / 1000000, us % 1000000 * 1000};
  nanosleep(&t, NULL);
}
static long now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}
static void start(const char* name, void* (*f)(void*)) {
  pthread_t t;
  start_named(&t, name, f);
}
static NOINLINE void compute(void) {
  for (const long end = now_us() + kHoldUs; now_us() < end;)
    continue;
}

// --- hot locks: the holder sleeps, computes, waits for input

static NOINLINE void* sleeps(void* unused) {
  while (1) {
    pthread_mutex_lock(&hot);  // waits for hot
    nap(kHoldUs);              // sleeps with hot
    pthread_mutex_unlock(&hot);
  }
  return unused;
}
static NOINLINE void* computes(void* unused) {
  while (1) {
    pthread_mutex_lock(&hot);
    compute();  // computes with hot
    pthread_mutex_unlock(&hot);
  }
  return unused;
}
static NOINLINE void* polls(void* unused) {
  const int events = epoll_create1(0);
  struct epoll_event event;
  while (1) {
    pthread_mutex_lock(&hot);
    if (epoll_wait(events, &event, 1, kHoldUs / 1000) != 0) abort();  // polls with hot
    pthread_mutex_unlock(&hot);
  }
  return unused;
}
static NOINLINE void* reads(void* unused) {
  char one;
  while (1) {
    pthread_mutex_lock(&hot);
    if (read(pipe_ends[0], &one, 1) != 1) abort();  // reads with hot
    pthread_mutex_unlock(&hot);
  }
  return unused;
}
static NOINLINE void* feeds(void* unused) {
  while (write(pipe_ends[1], "x", 1) == 1)
    nap(kHoldUs);
  return unused;
}

// --- on the heap; beside a lock that is less hot; with a condition

static NOINLINE void* uses_object(void* unused) {
  while (1) {
    pthread_mutex_lock(&object->lock);  // waits for the object
    nap(kHoldUs);                       // sleeps with the object
    pthread_mutex_unlock(&object->lock);
  }
  return unused;
}
static NOINLINE void* uses_mild(void* unused) {
  while (1) {
    pthread_mutex_lock(&mild);
    nap(kShortUs);
    pthread_mutex_unlock(&mild);
    nap(kHoldUs);
  }
  return unused;
}
static NOINLINE void* waits_for_condition(void* unused) {
  while (1) {
    pthread_mutex_lock(&hot);
    pthread_cond_wait(&filled, &hot);  // waits for filled
    pthread_mutex_unlock(&hot);
  }
  return unused;
}
static NOINLINE void* fills(void* unused) {
  while (1) {
    pthread_mutex_lock(&hot);
    pthread_cond_broadcast(&filled);
    nap(kHoldUs);  // fills with hot
    pthread_mutex_unlock(&hot);
    nap(kShortUs);
  }
  return unused;
}
static NOINLINE void* writes(void* unused) {
  while (1) {
    pthread_rwlock_wrlock(&table);
    nap(kHoldUs);  // writes the table
    pthread_rwlock_unlock(&table);
  }
  return unused;
}

// --- for `why`: one holds, others wait for ever

static NOINLINE void* holds(void* unused) {
  pthread_mutex_lock(&hot);
  is_held = 1;
  nap(1000000000000);  // keeps hot
  return unused;
}
static NOINLINE void* wants(void* unused) {
  while (!is_held)
    nap(kShortUs);
  pthread_mutex_lock(&hot);  // wants hot
  return unused;
}
static NOINLINE void* holds_table(void* unused) {
  pthread_rwlock_wrlock(&table);
  is_held = 1;
  nap(1000000000000);
  return unused;
}
static NOINLINE void* reads_table(void* unused) {
  while (!is_held)
    nap(kShortUs);
  pthread_rwlock_rdlock(&table);  // wants to read
  return unused;
}
static NOINLINE void* writes_table(void* unused) {
  while (!is_held)
    nap(kShortUs);
  pthread_rwlock_wrlock(&table);  // wants to write
  return unused;
}
static void for_ever(void) {
  is_held = 1;
  nap(1000000000000);
}
static NOINLINE void* initialises(void* unused) {
  pthread_once(&once, for_ever);
  return unused;
}
static NOINLINE void* initialises_too(void* unused) {
  while (!is_held)
    nap(kShortUs);
  pthread_once(&once, for_ever);  // waits for the initialisation
  return unused;
}

// --- a thread that does nothing but look at the clock, and prints its gaps of more than 1 ms

// How long this thread has been ready to run, without a processor.
static long delayed_us(void) {
  unsigned long long run, delayed = 0;
  FILE* const file = fopen("/proc/thread-self/schedstat", "re");
  if (file == NULL || fscanf(file, "%llu %llu", &run, &delayed) != 2) delayed = 0;
  if (file != NULL) fclose(file);
  return delayed / 1000;
}
static NOINLINE void* looks_at_the_clock(void* unused) {
  pthread_mutex_lock(&hot);
  is_held = 1;
  long delayed = delayed_us();
  for (long last = now_us();;) {
    const long now = now_us();
    if (now - last > 1000) {
      const long delayed_now = delayed_us();
      printf("%ld\n", now - last - (delayed_now - delayed));
      fflush(stdout);
      delayed = delayed_now;
      last = now_us();
    } else {
      last = now;
    }
  }
  return unused;
}

static void set_kind(pthread_mutex_t* mutex, const char* kind) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  if (strcmp(kind, "recursive") == 0)
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  if (strcmp(kind, "errorcheck") == 0)
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
  if (strcmp(kind, "inherit") == 0)
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
  if (strcmp(kind, "robust") == 0) pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(mutex, &attributes);
}

int main(int count, char** words) {
  const char* const name = count > 1 ? words[1] : "";
  const char* const kind = count > 2 ? words[2] : "normal";
  void* (*pair)(void*) = NULL;
  set_kind(&hot, kind);
  if (strcmp(name, "sleeps") == 0) {
    pair = sleeps;
  } else if (strcmp(name, "computes") == 0) {
    pair = computes;
  } else if (strcmp(name, "polls") == 0) {
    pair = polls;
  } else if (strcmp(name, "reads") == 0) {
    if (pipe(pipe_ends) != 0) return 2;
    start("feeder", feeds);
    pair = reads;
  } else if (strcmp(name, "object") == 0) {
    object = malloc(sizeof *object);
    pthread_mutex_init(&object->lock, NULL);
    pair = uses_object;
  } else if (strcmp(name, "two") == 0) {
    start("mild", uses_mild);
    start("mild", uses_mild);
    pair = sleeps;
  } else if (strcmp(name, "condition") == 0) {
    start("waiter", waits_for_condition);
    start("waiter", waits_for_condition);
    pair = fills;
  } else if (strcmp(name, "writes") == 0) {
    pair = writes;
  } else if (strcmp(name, "holds") == 0) {
    start("holder", holds);
    pair = wants;
  } else if (strcmp(name, "table") == 0) {
    start("holder", holds_table);
    start("reader", reads_table);
    pair = writes_table;
  } else if (strcmp(name, "once") == 0) {
    start("first", initialises);
    pair = initialises_too;
  } else if (strcmp(name, "forked") == 0) {
    pthread_mutex_lock(&hot);
    const pid_t child = fork();
    if (child == 0) pthread_mutex_lock(&hot);  // wants what the parent has
    printf("%d\n", child);
    fflush(stdout);
    waitpid(child, NULL, 0);
    return 0;
  } else if (strcmp(name, "clock") == 0) {
    start("clock", looks_at_the_clock);
    pair = wants;
  } else {
    fprintf(stderr, "profile_unprepared CASE\n");
    return 2;
  }
  start("one", pair);
  start("other", pair);
  nap(1000000000000);
  return 0;
}
