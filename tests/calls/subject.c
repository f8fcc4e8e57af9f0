/* Takes locks as its words say, so that what is recorded of it is known.
 *
 *   calls_subject [WORD...]     each word is one of the table at the end
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/wait.h>

enum { kRounds = 1000, kTurns = 50, kThreads = 4, kSleepMs = 30, kLateMs = 1000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t edge = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static char** arguments;

static long long cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}
/* However busy the machine is. */
static void work(long long ns) {
  for (const long long end = cpu_ns() + ns; cpu_ns() < end;) {}
}
static void sleep_ms(long ms) {
  const struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&t, NULL);
}

/* All are there before the first one begins, and until the last one is done: each takes a lock
 * before that and after it. */
static struct {
  void* (*f)(void*);
  int count;
  atomic_int began, done;
} group;

static void wait_for_all(atomic_int* arrived) {
  atomic_fetch_add(arrived, 1);
  while (atomic_load(arrived) < group.count)
    sched_yield();
}
static void take_edge(void) {
  pthread_mutex_lock(&edge);
  pthread_mutex_unlock(&edge);
}
static void* in_group(void* number) {
  take_edge();
  wait_for_all(&group.began);
  group.f(number);
  wait_for_all(&group.done);
  take_edge();
  return NULL;
}
static void in_threads(int count, void* (*f)(void*)) {
  pthread_t thread[kThreads];
  group.f = f;
  group.count = count;
  for (long i = 0; i < count; ++i)
    pthread_create(&thread[i], NULL, in_group, (void*)i);
  for (int i = 0; i < count; ++i)
    pthread_join(thread[i], NULL);
}

/* A mutex of its own for each thread, which holds it for 2 us and works for 5 us in between. */
static void* pairs_of(void* number) {
  pthread_mutex_t* mine = number == NULL ? &mutex : &other;
  for (int i = 0; i < kRounds; ++i) {
    pthread_mutex_lock(mine);
    work(2000);
    pthread_mutex_unlock(mine);
    work(5000);
  }
  return NULL;
}
static void pairs(void) { in_threads(2, pairs_of); }

/* One mutex for all, which is held nearly all of the time. */
static void* serial_of(void* unused) {
  for (int i = 0; i < kRounds; ++i) {
    pthread_mutex_lock(&mutex);
    work(2000);
    pthread_mutex_unlock(&mutex);
  }
  return unused;
}
static void serial(void) { in_threads(kThreads, serial_of); }

static void* reads_of(void* number) {
  for (int i = 0; i < kRounds; ++i) {
    const int writes = number == NULL && i % 10 == 0;
    writes ? pthread_rwlock_wrlock(&rwlock) : pthread_rwlock_rdlock(&rwlock);
    work(500);
    pthread_rwlock_unlock(&rwlock);
    work(1000);
  }
  return NULL;
}
static void reads(void) { in_threads(2, reads_of); }

/* Two threads that take turns. */
static int turn = 0;
static void* turns_of(void* number) {
  const int mine = number != NULL;
  for (int i = 0; i < kTurns; ++i) {
    pthread_mutex_lock(&mutex);
    while (turn != mine)
      pthread_cond_wait(&cond, &mutex);
    work(20000);
    turn = !mine;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&mutex);
  }
  return NULL;
}
static void turns(void) { in_threads(2, turns_of); }

static void pair(void) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}
static void one(void) { pair(); }
static void many(void) {
  for (int i = 0; i < 100 * kRounds; ++i)
    pair();
}
static void sleeps(void) {
  for (int i = 0; i < 5; ++i) {
    pair();
    sleep_ms(kSleepMs);
  }
  pair();
}
static void late(void) {
  pair();
  sleep_ms(kLateMs);
  pair();
}
static void busy(void) {
  for (int i = 0; i < 5; ++i) {
    pair();
    work(kSleepMs * 1000000LL);
  }
  pair();
}
static void fails(void) {
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < 7; ++i)
    (void)pthread_mutex_trylock(&mutex);
  pthread_mutex_unlock(&mutex);
}
/* The memory of a mutex becomes another one. */
static void reused(void) {
  for (int i = 0; i < 3; ++i) {
    pthread_mutex_init(&other, NULL);
    pthread_mutex_lock(&other);
    pthread_mutex_unlock(&other);
    pthread_mutex_destroy(&other);
  }
}
static void forks(void) {
  pair();
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 3; ++i)
      pair();
    exit(0);
  }
  waitpid(child, NULL, 0);
  pair();
}
static void execs(void) {
  pair();
  pair();
  char word[] = "one";
  char* words[] = {arguments[0], word, NULL};
  execv("/proc/self/exe", words);
}
static void killed(void) {
  for (int i = 0; i < kRounds; ++i)
    pair();
  kill(getpid(), SIGKILL);
}

static const struct {
  const char* word;
  void (*run)(void);
} kTable[] = {
    {"pairs", pairs}, {"serial", serial}, {"reads", reads}, {"turns", turns},   {"one", one},
    {"many", many},   {"sleeps", sleeps}, {"busy", busy},   {"fails", fails},   {"reused", reused},
    {"forks", forks}, {"late", late},     {"execs", execs}, {"killed", killed},
};

int main(int argc, char** argv) {
  arguments = argv;
  for (int i = 1; i < argc; ++i) {
    for (size_t k = 0; k < sizeof kTable / sizeof *kTable; ++k)
      if (strcmp(argv[i], kTable[k].word) == 0) kTable[k].run();
  }
  return 0;
}
