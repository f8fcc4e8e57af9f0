// Very many threads one after another, or very many locks, and what memory that takes.
//
//   churn threads N HOW   N threads in sequence, each takes locks; HOW says what else it does:
//                           one      reads and writes one lock
//                           many     holds 12 locks at once
//                           late     the same again in its key destructors, in every round
//                           leaves   ends with 12 locks held, which are made anew then
//                           waits    waits for a lock that the main thread holds
//                           mutexes  holds 12 mutexes at once, times out on a condition variable
//                           queues   waits for a mutex, then on a condition variable, for the main
//                                    thread
//                           exits, cancelled, c11: another end, or another beginning
//                           refused  makes a thread, which it can't, since the stack is too large
//   churn keyless N HOW   the same in a program that has all keys of thread-specific data
//   churn keys HOW        creates keys until it is refused, and prints how many there were; HOW
//                         is pthread or tss
//   churn locks N         N locks, each used once
//   churn mutexes N       N mutexes and condition variables, each used once
//   churn gone N          N locks and mutexes that are used once and then freed without a word, as
//                         std::shared_mutex and std::mutex are
//   churn ended N         N locks, each destroyed while it is held, for reading and for writing
//   churn held N          one thread, N read locks held at once
//   churn deep [foreign]  one thread reads one lock until it is refused; foreign: a lock whose hold
//                         another thread has released once. Prints the depth instead.
//
// Prints memory of its own and mapped memory in kB and the number of mappings, twice: after a
// tenth, and at the end. Status 0, or 1 with a message if a lock call failed.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

#include "../expect.h"

enum { kLocks = 12 };
static pthread_rwlock_t locks[kLocks];
static pthread_key_t key;
static pthread_barrier_t meeting;
static pthread_mutex_t mutexes[kLocks];
static pthread_cond_t event;
static int happened;

// ---- memory, without malloc

static void read_file(const char* path, char* text, size_t size) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  size_t n = 0;
  for (ssize_t r; fd >= 0 && (r = read(fd, text + n, size - 1 - n)) > 0;)
    n += (size_t)r;
  text[n] = 0;
  if (fd >= 0) close(fd);
}

static long field(const char* text, const char* name) {
  const char* at = strstr(text, name);
  return at == NULL ? -1 : atol(at + strlen(name));
}

static void print_memory(void) {
  static char text[1 << 20];
  read_file("/proc/self/smaps_rollup", text, sizeof text);
  // Not the pages of files: whether they are private, or dirty, depends on others.
  const long own = field(text, "Anonymous:") + field(text, "Swap:");
  // Not VmSize, which is an emulator's where one runs the program.
  read_file("/proc/self/maps", text, sizeof text);
  unsigned long size = 0;
  int maps = 0;
  for (char* line = text; *line != 0; ++maps) {
    char* end = line;
    const unsigned long begin = strtoul(line, &end, 16);
    size += (strtoul(end + 1, NULL, 16) - begin) / 1024;
    line += strcspn(line, "\n");
    line += *line != 0;
  }
  printf("%ld %lu %d\n", own, size, maps);
}

// ---- what threads do

static void use_one(void) {
  EXPECT(0, pthread_rwlock_rdlock(&locks[0]));
  EXPECT(0, pthread_rwlock_rdlock(&locks[0]));
  EXPECT(0, pthread_rwlock_unlock(&locks[0]));
  EXPECT(0, pthread_rwlock_unlock(&locks[0]));
  EXPECT(0, pthread_rwlock_wrlock(&locks[1]));
  EXPECT(0, pthread_rwlock_unlock(&locks[1]));
}

static void use_many(void) {
  for (int i = 0; i < kLocks; ++i)
    EXPECT(0, pthread_rwlock_rdlock(&locks[i]));
  for (int i = 0; i < kLocks; ++i)
    EXPECT(0, pthread_rwlock_unlock(&locks[i]));
  use_one();
}

static void in_destructor(void* round) {
  use_many();
  const long n = (long)round;
  if (n < PTHREAD_DESTRUCTOR_ITERATIONS) pthread_setspecific(key, (void*)(n + 1));
}

static void* one(void* unused) {
  use_one();
  return unused;
}
static void* many(void* unused) {
  use_many();
  return unused;
}
static void* late(void* unused) {
  use_many();
  pthread_setspecific(key, (void*)1L);
  return unused;
}
static void* leaves(void* unused) {
  for (int i = 0; i < kLocks; ++i)
    EXPECT(0, pthread_rwlock_rdlock(&locks[i]));
  return unused;
}
static void* waits(void* unused) {
  pthread_barrier_wait(&meeting);
  EXPECT(0, pthread_rwlock_rdlock(&locks[0]));
  EXPECT(0, pthread_rwlock_unlock(&locks[0]));
  EXPECT(0, pthread_rwlock_wrlock(&locks[0]));
  EXPECT(0, pthread_rwlock_unlock(&locks[0]));
  return unused;
}

static void* use_mutexes(void* unused);
static void* exits(void* unused) {
  use_many();
  use_mutexes(NULL);
  pthread_exit(unused);
}
static void* is_cancelled(void* unused) {
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  use_many();
  use_mutexes(NULL);
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
  for (;;)
    pause();
  return unused;
}
static int in_c11(void* unused) {
  use_many();
  use_mutexes(NULL);
  return unused == NULL;
}
static void* refused(void* unused) {
  pthread_attr_t large;
  pthread_t thread;
  pthread_attr_init(&large);
  EXPECT(0, pthread_attr_setstacksize(&large, (size_t)1 << 46));
  EXPECT(EAGAIN, pthread_create(&thread, &large, one, NULL));
  pthread_attr_destroy(&large);
  return unused;
}
static void time_out(pthread_cond_t* c, pthread_mutex_t* m) {
  const struct timespec past = {1, 0};
  EXPECT(ETIMEDOUT, pthread_cond_timedwait(c, m, &past));
}
static void* use_mutexes(void* unused) {
  for (int i = 0; i < kLocks; ++i)
    EXPECT(0, pthread_mutex_lock(&mutexes[i]));
  time_out(&event, &mutexes[0]);
  for (int i = 0; i < kLocks; ++i)
    EXPECT(0, pthread_mutex_unlock(&mutexes[i]));
  return unused;
}
static void* queues(void* unused) {
  pthread_barrier_wait(&meeting);
  EXPECT(0, pthread_mutex_lock(&mutexes[0]));
  while (!happened)
    EXPECT(0, pthread_cond_wait(&event, &mutexes[0]));
  happened = 0;
  EXPECT(0, pthread_mutex_unlock(&mutexes[0]));
  return unused;
}
static void let_it_happen(void) {
  pthread_barrier_wait(&meeting);
  sched_yield();
  EXPECT(0, pthread_mutex_unlock(&mutexes[0]));
  sched_yield();
  EXPECT(0, pthread_mutex_lock(&mutexes[0]));
  happened = 1;
  EXPECT(0, pthread_cond_broadcast(&event));
  EXPECT(0, pthread_mutex_unlock(&mutexes[0]));
}

static void run_thread(void* (*body)(void*)) {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN + 64 * 1024);
  pthread_t thread;
  if (body == waits) EXPECT(0, pthread_rwlock_wrlock(&locks[0]));
  if (body == queues) EXPECT(0, pthread_mutex_lock(&mutexes[0]));
  if (body == NULL) {
    thrd_t of_c11;
    EXPECT(thrd_success, thrd_create(&of_c11, in_c11, NULL));
    EXPECT(thrd_success, thrd_join(of_c11, NULL));
    return;
  }
  EXPECT(0, pthread_create(&thread, &small, body, NULL));
  if (body == is_cancelled) pthread_cancel(thread);
  if (body == waits) {
    pthread_barrier_wait(&meeting);
    sched_yield();
    EXPECT(0, pthread_rwlock_unlock(&locks[0]));
  }
  if (body == queues) let_it_happen();
  EXPECT(0, pthread_join(thread, NULL));
  if (body == leaves) {
    for (int i = 0; i < kLocks; ++i) {
      EXPECT(EBUSY, pthread_rwlock_trywrlock(&locks[i]));
      EXPECT(0, pthread_rwlock_init(&locks[i], NULL));
    }
  }
}

// ---- keys

static pthread_key_t keys[PTHREAD_KEYS_MAX + 1];
static long ends[PTHREAD_KEYS_MAX + 1];

static void at_end(void* value) { ++ends[(long)value]; }
static long create_keys(int as_tss) {
  for (long n = 0;; ++n) {
    if (as_tss) {
      const int result = tss_create(&keys[n], at_end);
      if (result == thrd_error) return n;
      EXPECT(thrd_success, result);
    } else {
      const int error = pthread_key_create(&keys[n], at_end);
      if (error == EAGAIN) return n;
      EXPECT(0, error);
    }
  }
}
static int churn_keys(int as_tss) {
  use_many();
  printf("%ld\n", create_keys(as_tss));
  EXPECT(0, pthread_key_delete(keys[7]));
  EXPECT(0, pthread_key_create(&keys[7], NULL));
  use_many();
  return 0;
}

// It has used locks before the program took the last key.
static void* sees_its_values(void* count) {
  use_many();
  use_mutexes(NULL);
  pthread_barrier_wait(&meeting);
  pthread_barrier_wait(&meeting);
  const long n = *(const long*)count;
  for (long i = 0; i < n; ++i) {
    EXPECT(1, pthread_getspecific(keys[i]) == NULL);
    EXPECT(0, pthread_setspecific(keys[i], (void*)(i + 1)));
  }
  use_many();
  use_mutexes(NULL);
  return NULL;
}
static void take_all_keys(void) {
  static long n;
  pthread_t early;
  use_many();
  EXPECT(0, pthread_create(&early, NULL, sees_its_values, &n));
  pthread_barrier_wait(&meeting);
  n = create_keys(0);
  pthread_barrier_wait(&meeting);
  EXPECT(PTHREAD_KEYS_MAX - 1, (int)n);  // one is there already
  EXPECT(0, pthread_join(early, NULL));
  for (long i = 0; i < n; ++i)
    EXPECT(1, (int)ends[i + 1]);
}

static int churn_threads(long n, const char* how, int has_all_keys) {
  const struct {
    const char* name;
    void* (*body)(void*);
  } ways[] = {{"one", one},         {"many", many},   {"late", late},
              {"leaves", leaves},   {"waits", waits}, {"mutexes", use_mutexes},
              {"queues", queues},   {"exits", exits}, {"cancelled", is_cancelled},
              {"refused", refused}, {"c11", NULL}};
  const size_t ways_are = sizeof ways / sizeof ways[0];
  size_t way = 0;
  while (way < ways_are && strcmp(how, ways[way].name) != 0)
    ++way;
  if (way == ways_are) return 2;
  void* (*const body)(void*) = ways[way].body;
  EXPECT(0, pthread_key_create(&key, in_destructor));
  EXPECT(0, pthread_barrier_init(&meeting, NULL, 2));
  if (has_all_keys) take_all_keys();
  for (long i = 0; i < n; ++i) {
    if (i == n / 10) print_memory();
    run_thread(body);
  }
  print_memory();
  use_many();
  return 0;
}

// ---- very many locks

static pthread_rwlock_t* new_locks(long n) {
  pthread_rwlock_t* all = malloc((size_t)n * sizeof *all);
  if (all == NULL) exit(1);
  memset(all, 0xff, (size_t)n * sizeof *all);  // its pages are there before memory is looked at
  memset(all, 0, (size_t)n * sizeof *all);
  return all;
}

static int churn_locks(long n) {
  pthread_rwlock_t* all = new_locks(n);
  for (long i = 0; i < n; ++i) {
    if (i == n / 10) print_memory();
    if (i % 2 == 0) EXPECT(0, pthread_rwlock_init(&all[i], NULL));
    EXPECT(0, pthread_rwlock_rdlock(&all[i]));
    EXPECT(0, pthread_rwlock_unlock(&all[i]));
    EXPECT(0, pthread_rwlock_wrlock(&all[i]));
    EXPECT(0, pthread_rwlock_unlock(&all[i]));
    if (i % 3 == 0) EXPECT(0, pthread_rwlock_destroy(&all[i]));
  }
  print_memory();
  return 0;
}

static int churn_mutexes(long n) {
  struct pair {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
  }* all = malloc((size_t)n * sizeof *all);
  if (all == NULL) return 1;
  memset(all, 0xff, (size_t)n * sizeof *all);  // as in new_locks
  memset(all, 0, (size_t)n * sizeof *all);
  pthread_mutexattr_t recursive;
  EXPECT(0, pthread_mutexattr_init(&recursive));
  EXPECT(0, pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE));
  for (long i = 0; i < n; ++i) {
    if (i == n / 10) print_memory();
    if (i % 2 == 0) EXPECT(0, pthread_mutex_init(&all[i].mutex, i % 4 == 0 ? &recursive : NULL));
    EXPECT(0, pthread_mutex_lock(&all[i].mutex));
    time_out(&all[i].cond, &all[i].mutex);
    EXPECT(0, pthread_cond_signal(&all[i].cond));
    EXPECT(0, pthread_mutex_unlock(&all[i].mutex));
    if (i % 3 != 0) continue;
    EXPECT(0, pthread_cond_destroy(&all[i].cond));
    EXPECT(0, pthread_mutex_destroy(&all[i].mutex));
  }
  print_memory();
  return 0;
}

static int churn_gone(long n) {
  struct object {
    pthread_rwlock_t lock;
    pthread_mutex_t mutex;
  } * alive[100] = {NULL};
  for (long i = 0; i < n; ++i) {
    if (i == n / 10) print_memory();
    struct object** place = &alive[i * 7919 % 100];
    free(*place);
    struct object* o = *place = malloc(sizeof **place);
    if (o == NULL) return 1;
    *o = (struct object){PTHREAD_RWLOCK_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
    EXPECT(0, pthread_rwlock_rdlock(&o->lock));
    EXPECT(0, pthread_rwlock_unlock(&o->lock));
    EXPECT(0, pthread_rwlock_wrlock(&o->lock));
    EXPECT(0, pthread_rwlock_unlock(&o->lock));
    EXPECT(0, pthread_mutex_lock(&o->mutex));
    EXPECT(0, pthread_mutex_unlock(&o->mutex));
  }
  print_memory();
  return 0;
}

static int churn_ended(long n) {
  pthread_rwlock_t* all = new_locks(n);
  for (long i = 0; i < n; ++i) {
    if (i == n / 10) print_memory();
    EXPECT(0, pthread_rwlock_rdlock(&all[i]));
    EXPECT(0, pthread_rwlock_rdlock(&all[i]));
    EXPECT(0, pthread_rwlock_destroy(&all[i]));
    EXPECT(0, pthread_rwlock_init(&all[i], NULL));
    EXPECT(0, pthread_rwlock_wrlock(&all[i]));
    EXPECT(0, pthread_rwlock_destroy(&all[i]));
  }
  print_memory();
  return 0;
}

static int churn_held(long n) {
  pthread_rwlock_t* all = new_locks(n);
  print_memory();
  for (int round = 0; round < 2; ++round) {
    for (long i = 0; i < n; ++i)
      EXPECT(0, pthread_rwlock_rdlock(&all[i]));
    for (long i = 0; i < n; i += n / 100 + 1)
      EXPECT(EBUSY, pthread_rwlock_trywrlock(&all[i]));
    for (long i = 0; i < n; ++i)
      EXPECT(0,
             pthread_rwlock_unlock(&all[(i * 7919) % n]));  // 7919 is prime, and does not divide n
    for (long i = 0; i < n; ++i) {
      EXPECT(0, pthread_rwlock_trywrlock(&all[i]));
      EXPECT(0, pthread_rwlock_unlock(&all[i]));
    }
  }
  print_memory();
  return 0;
}

static void* read_first(void* unused) {
  EXPECT(0, pthread_rwlock_rdlock(&locks[0]));
  return unused;
}
static void* write_fails(void* unused) {
  EXPECT(EBUSY, pthread_rwlock_trywrlock(&locks[0]));
  return unused;
}
static void in_a_thread(void* (*body)(void*)) {
  pthread_t thread;
  EXPECT(0, pthread_create(&thread, NULL, body, NULL));
  EXPECT(0, pthread_join(thread, NULL));
}

static int churn_deep(int foreign) {
  // per-cpu counts on each: what one has too many of could leave another.
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  EXPECT(0, sched_setaffinity(0, sizeof one, &one));
  if (foreign) {
    in_a_thread(read_first);
    EXPECT(0, pthread_rwlock_unlock(&locks[0]));
  }
  long depth = 0;
  int error;
  while ((error = pthread_rwlock_rdlock(&locks[0])) == 0)
    ++depth;
  EXPECT(EAGAIN, error);
  EXPECT(EAGAIN, pthread_rwlock_tryrdlock(&locks[0]));
  in_a_thread(write_fails);
  for (long i = 0; i < depth; ++i) {
    if (i == 1) EXPECT(0, pthread_rwlock_rdlock(&locks[0]));  // one has left
    EXPECT(0, pthread_rwlock_unlock(&locks[0]));
  }
  in_a_thread(write_fails);
  EXPECT(0, pthread_rwlock_unlock(&locks[0]));
  EXPECT(0, pthread_rwlock_wrlock(&locks[0]));
  EXPECT(0, pthread_rwlock_unlock(&locks[0]));
  printf("%ld\n", depth);
  return 0;
}

// Programs that take a number of at least 10, and no more.
static const struct {
  const char* name;
  int (*run)(long n);
} numbered[] = {{"locks", churn_locks},
                {"mutexes", churn_mutexes},
                {"gone", churn_gone},
                {"ended", churn_ended},
                {"held", churn_held}};

static int churn(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  const long n = argc > 2 ? atol(argv[2]) : 0;
  if (strcmp(name, "deep") == 0) return churn_deep(argc > 2);
  if (argc == 3 && strcmp(name, "keys") == 0) return churn_keys(strcmp(argv[2], "tss") == 0);
  if (n < 10) return 2;
  if (argc == 4 && strcmp(name, "threads") == 0) return churn_threads(n, argv[3], 0);
  if (argc == 4 && strcmp(name, "keyless") == 0) return churn_threads(n, argv[3], 1);
  for (size_t i = 0; argc == 3 && i < sizeof numbered / sizeof *numbered; ++i) {
    if (strcmp(name, numbered[i].name) == 0) return numbered[i].run(n);
  }
  return 2;
}

int main(int argc, char** argv) {
  const int status = churn(argc, argv);
  if (status == 2)
    fprintf(stderr,
            "usage: churn threads N HOW | keyless N HOW | keys HOW | locks N | mutexes N | gone N "
            "| ended N | held N | "
            "deep [foreign]\n");
  return status;
}
