// What a condition variable does must follow from its attributes, however this glibc lays them out
// in the object: each way to make one, each clock, shared between processes or not, each kind of
// wait, and the functions of glibc 2.2.5 beside those of 2.3.2.
//
//   conds [list | CASE]
//
// Without an argument it runs every case, each in a process of its own, all at once. What is right
// is computed from the attributes. Exit status 1 if a case goes wrong, with a line for each. A wait
// by the wrong clock and a lost wake-up may also hang, which is for those to end that run this.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <gnu/libc-version.h>

// ms: a deadline that is waited for, and one that must not come
enum { kShort = 60, kLong = 100000000 };

// ---- the functions of before glibc 2.3.2, as old programs bind to them

#if defined(__x86_64__)
#define OLD(result, name, parameters)  \
  extern result old_##name parameters; \
  __asm__(".symver old_" #name ", " #name "@GLIBC_2.2.5")
OLD(int, pthread_cond_init, (pthread_cond_t*, const pthread_condattr_t*));
OLD(int, pthread_cond_destroy, (pthread_cond_t*));
OLD(int, pthread_cond_wait, (pthread_cond_t*, pthread_mutex_t*));
OLD(int, pthread_cond_timedwait, (pthread_cond_t*, pthread_mutex_t*, const struct timespec*));
OLD(int, pthread_cond_signal, (pthread_cond_t*));
OLD(int, pthread_cond_broadcast, (pthread_cond_t*));
enum { kHasOld = 1 };
#else
enum { kHasOld = 0 };  // this architecture is younger
#define old_pthread_cond_init pthread_cond_init
#define old_pthread_cond_destroy pthread_cond_destroy
#define old_pthread_cond_wait pthread_cond_wait
#define old_pthread_cond_timedwait pthread_cond_timedwait
#define old_pthread_cond_signal pthread_cond_signal
#define old_pthread_cond_broadcast pthread_cond_broadcast
#endif

typedef struct {
  const char* name;
  int (*init)(pthread_cond_t*, const pthread_condattr_t*);
  int (*destroy)(pthread_cond_t*);
  int (*wait)(pthread_cond_t*, pthread_mutex_t*);
  int (*timedwait)(pthread_cond_t*, pthread_mutex_t*, const struct timespec*);
  int (*signal)(pthread_cond_t*);
  int (*broadcast)(pthread_cond_t*);
} Functions;

static const Functions kFunctions[] = {
    {"", pthread_cond_init, pthread_cond_destroy, pthread_cond_wait, pthread_cond_timedwait,
     pthread_cond_signal, pthread_cond_broadcast},
    {"old-", old_pthread_cond_init, old_pthread_cond_destroy, old_pthread_cond_wait,
     old_pthread_cond_timedwait, old_pthread_cond_signal, old_pthread_cond_broadcast},
};

// ---- the ways to make one

typedef enum { kStatic, kNoAttributes, kUnset, kRealtime, kMonotonic } Made;
static const char* const kMade[] = {"static", "null", "unset", "realtime", "monotonic"};
typedef enum { kPrivate, kShared } Scope;
static const char* const kScope[] = {"private", "shared"};

// ---- what is done with it

typedef enum {
  kTimed,          // the deadline comes, on the object's clock
  kOtherClock,     // a deadline of the other clock: long past, or some fifty years ahead
  kClockRealtime,  // clockwait says the clock, whatever the object's is
  kClockMonotonic,
  kWoken,      // wait, and a signal
  kBroadcast,  // two that wait
  kActions,
} Action;
static const char* const kAction[] = {"timedwait",           "other-clock", "clockwait-realtime",
                                      "clockwait-monotonic", "signal",      "broadcast"};

typedef struct {
  Made made;
  Scope scope;
  int old;
  Action action;
} Case;

static int list_cases(Case* cases) {
  int n = 0;
  for (int old = 0; old <= kHasOld; ++old) {
    for (Made made = kStatic; made <= kMonotonic; ++made) {
      for (Scope scope = kPrivate; scope <= kShared; ++scope) {
        if (scope == kShared && made < kUnset) continue;  // it takes attributes
        for (Action action = 0; action < kActions; ++action) {
          if (old && (action == kClockRealtime || action == kClockMonotonic)) continue;  // 2.30's
          cases[n++] = (Case){made, scope, old, action};
        }
      }
    }
  }
  return n;
}

static void name_of(const Case* c, char* name, size_t size) {
  snprintf(name, size, "%s%s-%s-%s", kFunctions[c->old].name, kMade[c->made], kScope[c->scope],
           kAction[c->action]);
}

// ---- a case, in its process

static struct Memory {  // shared with the children
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  int waiting, ready;
} * memory;
static const Functions* f;

__attribute__((format(printf, 1, 2), noreturn)) static void wrong(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  printf("\n");
  fflush(stdout);
  _exit(1);
}

static void must(int error, const char* what) {
  if (error != 0) wrong("%s: %s", what, strerror(error));
}

static struct timespec at(clockid_t clock, int ms) {
  struct timespec t;
  clock_gettime(clock, &t);
  t.tv_sec += ms / 1000;
  t.tv_nsec += ms % 1000 * 1000000L;
  if (t.tv_nsec >= 1000000000) {
    t.tv_nsec -= 1000000000;
    ++t.tv_sec;
  }
  return t;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

// Returns what init must return: the old functions know no attributes.
static int make(const Case* c) {
  pthread_mutexattr_t of_mutex;
  must(pthread_mutexattr_init(&of_mutex), "mutexattr_init");
  if (c->scope == kShared) {
    must(pthread_mutexattr_setpshared(&of_mutex, PTHREAD_PROCESS_SHARED), "mutexattr_setpshared");
  }
  must(pthread_mutex_init(&memory->mutex, &of_mutex), "mutex_init");
  if (c->made == kStatic) {
    memory->cond = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    return 0;
  }
  memset(&memory->cond, 0xa5, sizeof memory->cond);  // whatever was there before
  if (c->made == kNoAttributes) {
    must(f->init(&memory->cond, NULL), "init");
    return 0;
  }
  pthread_condattr_t attributes;
  must(pthread_condattr_init(&attributes), "condattr_init");
  if (c->made != kUnset) {
    must(pthread_condattr_setclock(&attributes,
                                   c->made == kMonotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME),
         "condattr_setclock");
  }
  if (c->scope == kShared) {
    must(pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED), "condattr_setpshared");
  }
  const int right = c->old && (c->made == kMonotonic || c->scope == kShared) ? EINVAL : 0;
  const int got = f->init(&memory->cond, &attributes);
  if (got != right) wrong("init: %s, not %s", strerror(got), strerror(right));
  return right;
}

typedef int (*TimedWait)(clockid_t, const struct timespec*);
static int timed(clockid_t ignored, const struct timespec* deadline) {
  (void)ignored;
  return f->timedwait(&memory->cond, &memory->mutex, deadline);
}
static int clocked(clockid_t clock, const struct timespec* deadline) {
  return pthread_cond_clockwait(&memory->cond, &memory->mutex, clock, deadline);
}

// Waits until `ms` from now by that clock: right is ETIMEDOUT, then and not before.
static void times_out(TimedWait wait, clockid_t clock, int ms) {
  const double start = now();  // first, since other threads may run between the two
  const struct timespec deadline = at(clock, ms);
  int error;
  must(pthread_mutex_lock(&memory->mutex), "lock");
  do {
    error = wait(clock, &deadline);
  } while (error == 0);  // for no reason, which it may
  must(pthread_mutex_unlock(&memory->mutex), "unlock");
  const double took = now() - start;
  if (error != ETIMEDOUT) wrong("a timed wait ends with %s", strerror(error));
  if (took < ms - 2) wrong("a wait of %d ms ends after %.1f ms: by another clock", ms, took);
}

static void* wake(void* all) {
  for (bool waits = false; !waits;) {
    usleep(1000);
    pthread_mutex_lock(&memory->mutex);
    waits = memory->waiting == (all != NULL ? 2 : 1);
    if (waits) memory->ready = 1;
    pthread_mutex_unlock(&memory->mutex);
  }
  usleep(kShort * 500);  // so that they sleep, more often than not
  pthread_mutex_lock(&memory->mutex);
  all != NULL ? f->broadcast(&memory->cond) : f->signal(&memory->cond);
  pthread_mutex_unlock(&memory->mutex);
  return NULL;
}

// Whether something wakes it: a wait that ends for no reason looks again.
static void* sleeps(void* deadline) {
  must(pthread_mutex_lock(&memory->mutex), "lock");
  ++memory->waiting;
  do {
    const int error = deadline != NULL ? f->timedwait(&memory->cond, &memory->mutex, deadline)
                                       : f->wait(&memory->cond, &memory->mutex);
    if (error == ETIMEDOUT) wrong("a deadline far ahead has passed: by another clock");
    must(error, "wait");
  } while (!memory->ready);
  must(pthread_mutex_unlock(&memory->mutex), "unlock");
  return NULL;
}

// Somebody else does it: a thread, or another process if the object is shared.
static void elsewhere(Scope scope, pthread_t* thread, void* (*what)(void*), void* argument) {
  if (scope == kPrivate) {
    must(pthread_create(thread, NULL, what, argument), "create");
    return;
  }
  if (fork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    what(argument);
    _exit(0);
  }
}
static void wait_for_others(Scope scope, const pthread_t* threads, int n) {
  for (int i = 0; i < n; ++i) {
    int status = 0;
    if (scope == kPrivate) {
      must(pthread_join(threads[i], NULL), "join");
    } else if (wait(&status) < 0 || status != 0) {
      wrong("the other process has failed");
    }
  }
}

// Between two looks at the predicate it must have slept, so `ready` is set by `wake` only after
// that thread has begun to wait.
static void is_woken(const Case* c, int sleepers, void* deadline) {
  pthread_t others[2];
  int n = 0;
  elsewhere(c->scope, &others[n++], wake, sleepers == 2 ? memory : NULL);
  if (sleepers == 2) elsewhere(c->scope, &others[n++], sleeps, NULL);
  sleeps(deadline);
  wait_for_others(c->scope, others, n);
}

static int run(const Case* c) {
  memory = mmap(NULL, sizeof *memory, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) wrong("mmap: %s", strerror(errno));
  f = &kFunctions[c->old];
  if (make(c) != 0) return 0;
  const clockid_t own = c->made == kMonotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME;
  switch (c->action) {
    case kTimed:
      times_out(timed, own, kShort);
      break;
    case kOtherClock:
      if (own == CLOCK_REALTIME) {  // for which the machine's age is 1970
        const struct timespec deadline = at(CLOCK_MONOTONIC, kLong);
        must(pthread_mutex_lock(&memory->mutex), "lock");
        const int error = timed(own, &deadline);
        must(pthread_mutex_unlock(&memory->mutex), "unlock");
        if (error != ETIMEDOUT) wrong("a deadline of 1970 ends with %s", strerror(error));
      } else {
        struct timespec deadline = at(CLOCK_REALTIME, kShort);
        is_woken(c, 1, &deadline);
      }
      break;
    case kClockRealtime:
      times_out(clocked, CLOCK_REALTIME, kShort);
      break;
    case kClockMonotonic:
      times_out(clocked, CLOCK_MONOTONIC, kShort);
      break;
    case kWoken:
      is_woken(c, 1, NULL);
      break;
    default:
      is_woken(c, 2, NULL);
  }
  must(f->destroy(&memory->cond), "destroy");
  return 0;
}

// ---- all of them

int main(int count, char** words) {
  static Case cases[200];
  const int n = list_cases(cases);
  char name[100];
  if (count > 1 && strcmp(words[1], "list") != 0) {
    for (int i = 0; i < n; ++i) {
      name_of(&cases[i], name, sizeof name);
      if (strcmp(name, words[1]) == 0) return run(&cases[i]);
    }
    fprintf(stderr, "conds: no case '%s': see conds list\n", words[1]);
    return 2;
  }
  extern char** environ;
  pid_t processes[200];
  int failed = 0;
  for (int i = 0; i < n; ++i) {
    name_of(&cases[i], name, sizeof name);
    if (count > 1) {
      puts(name);
      continue;
    }
    char* const command[] = {words[0], name, NULL};
    if (posix_spawn(&processes[i], "/proc/self/exe", NULL, NULL, command, environ) != 0) return 2;
  }
  if (count > 1) return 0;
  for (int i = 0; i < n; ++i) {
    int status = 0;
    waitpid(processes[i], &status, 0);
    if (status == 0) continue;
    name_of(&cases[i], name, sizeof name);
    printf("FAILED %s (%s %d)\n", name, WIFSIGNALED(status) ? "signal" : "status",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    ++failed;
  }
  printf("glibc %s: %d cases, %d wrong\n", gnu_get_libc_version(), n, failed);
  return failed != 0;
}
