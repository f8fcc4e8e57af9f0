// A program with a mutex, a reader-writer lock and condition variables, each of which must do what
// its attributes ask for. Prints what is wrong, and "right" at the end if nothing is.
//
//   uses           all of it
//   uses private   without condition variables that processes share
//   uses wrong     signals are expected to be lost, so they aren't waited for to the end
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/wait.h>

enum { THREADS = 4, ROUNDS = 2000, WAIT_MS = 60 };

static int wrong;
static long patience_ms = 3600L * 1000;
static void need(int holds, const char* what) {
  if (!holds) printf("wrong: %s\n", what);
  wrong |= !holds;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static long counted, written, turn;

static void* work(void* number) {
  for (int i = 0; i < ROUNDS; ++i) {
    pthread_mutex_lock(&mutex);
    ++counted;
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_wrlock(&rwlock);
    ++written;
    pthread_rwlock_unlock(&rwlock);
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
  }
  for (int i = 0; i < 50; ++i) {
    pthread_mutex_lock(&mutex);
    while (turn % THREADS != (long)number)
      pthread_cond_wait(&turned, &mutex);
    ++turn;
    pthread_cond_broadcast(&turned);
    pthread_mutex_unlock(&mutex);
  }
  return NULL;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
static struct timespec from_now(clockid_t clock, long ms) {
  struct timespec t;
  clock_gettime(clock, &t);
  t.tv_nsec += ms * 1000000;
  t.tv_sec += t.tv_nsec / 1000000000;
  t.tv_nsec %= 1000000000;
  return t;
}

struct pair {
  pthread_mutex_t m;
  pthread_cond_t c;
  int ready;
};

static void make(struct pair* p, clockid_t clock, int pshared) {
  memset(p, 0xee, sizeof *p);
  pthread_mutexattr_t ma;
  pthread_mutexattr_init(&ma);
  pthread_mutexattr_setpshared(&ma, pshared);
  pthread_mutex_init(&p->m, &ma);
  pthread_condattr_t ca;
  pthread_condattr_init(&ca);
  pthread_condattr_setclock(&ca, clock);
  pthread_condattr_setpshared(&ca, pshared);
  pthread_cond_init(&p->c, &ca);
  p->ready = 0;
}

// Nobody signals: the wait ends with its deadline, which is on the clock of the attributes.
static void times_out(struct pair* p, clockid_t clock, const char* what) {
  const double begin = now();
  const struct timespec at = from_now(clock, WAIT_MS);
  pthread_mutex_lock(&p->m);
  int error = 0;
  while (error == 0)
    error = pthread_cond_timedwait(&p->c, &p->m, &at);
  pthread_mutex_unlock(&p->m);
  need(error == ETIMEDOUT && now() - begin > WAIT_MS * 0.9e-3, what);
}

// Another process signals, before a deadline that doesn't come unless signals are lost.
static void is_woken(struct pair* p, clockid_t clock, const char* what) {
  const pid_t child = fork();
  if (child == 0) {
    usleep(WAIT_MS * 1000 / 2);
    pthread_mutex_lock(&p->m);
    p->ready = 1;
    pthread_cond_signal(&p->c);
    pthread_mutex_unlock(&p->m);
    _exit(0);
  }
  const struct timespec at = from_now(clock, patience_ms);
  pthread_mutex_lock(&p->m);
  int error = 0;
  while (!p->ready && error == 0)
    error = pthread_cond_timedwait(&p->c, &p->m, &at);
  pthread_mutex_unlock(&p->m);
  need(error == 0, what);
  waitpid(child, NULL, 0);
}

static void kinds(void) {
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  pthread_mutex_t m;
  pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&m, &a);
  need(pthread_mutex_lock(&m) == 0 && pthread_mutex_lock(&m) == 0, "a recursive mutex");
  pthread_mutex_unlock(&m);
  pthread_mutex_unlock(&m);
  pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&m, &a);
  need(pthread_mutex_lock(&m) == 0 && pthread_mutex_lock(&m) == EDEADLK, "an errorcheck mutex");
  pthread_mutex_unlock(&m);
}

int main(int argc, char** argv) {
  const char* const how = argc > 1 ? argv[1] : "";
  if (strcmp(how, "wrong") == 0) patience_ms = 3000;
  kinds();
  pthread_t threads[THREADS];
  for (long i = 0; i < THREADS; ++i)
    pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < THREADS; ++i)
    pthread_join(threads[i], NULL);
  need(counted == THREADS * ROUNDS, "a mutex lets two threads in");
  need(written == THREADS * ROUNDS, "a reader-writer lock lets two threads in");

  struct pair* p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  make(p, CLOCK_MONOTONIC, PTHREAD_PROCESS_PRIVATE);
  times_out(p, CLOCK_MONOTONIC, "private, monotonic: the wait ends before its deadline");
  make(p, CLOCK_REALTIME, PTHREAD_PROCESS_PRIVATE);
  times_out(p, CLOCK_REALTIME, "private, real time: the wait ends before its deadline");
  if (strcmp(how, "private") != 0) {
    make(p, CLOCK_MONOTONIC, PTHREAD_PROCESS_SHARED);
    times_out(p, CLOCK_MONOTONIC, "shared, monotonic: the wait ends before its deadline");
    is_woken(p, CLOCK_MONOTONIC, "shared, monotonic: the other process's signal is lost");
    make(p, CLOCK_REALTIME, PTHREAD_PROCESS_SHARED);
    is_woken(p, CLOCK_REALTIME, "shared, real time: the other process's signal is lost");
  }
  if (!wrong) puts("right");
  return wrong;
}
