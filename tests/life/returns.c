// What calls return that an observer might change: prints a line for each. unseen.py compares them
// under an observer with those of glibc alone.
//
//   returns           the lines; with behind.c, which calls of them a library behind it has seen
//   returns cancelled KIND   threads that wait for a cond or a sem are cancelled, and the last one
//                     stays in its clean-up handler; each prints "handler" there. Ends when stdin
//                     does.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/syscall.h>

static const struct timespec past = {1, 0}, bad = {5, 1000000000}, negative = {5, -1};
static const clockid_t wrong = CLOCK_PROCESS_CPUTIME_ID;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;

void behind_begin(void) __attribute__((weak));
void behind_end(void) __attribute__((weak));

static void say(const char* what, int result) { printf("%s: %d\n", what, result); }
#define SAY(call) say(#call, call)
#define SAY_ERRNO(call) say(#call, (call) == 0 ? 0 : errno)

static void run(void* (*body)(void*), void* with) {
  pthread_t thread;
  pthread_create(&thread, NULL, body, with);
  pthread_join(thread, NULL);
}

static void rwlocks(void) {
  pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
  SAY(pthread_rwlock_clockrdlock(&l, wrong, &past));
  SAY(pthread_rwlock_clockwrlock(&l, wrong, &past));
  SAY(pthread_rwlock_timedrdlock(&l, &bad));
  SAY(pthread_rwlock_timedwrlock(&l, &bad));
  SAY(pthread_rwlock_timedrdlock(&l, &negative));
  SAY(pthread_rwlock_clockwrlock(&l, CLOCK_MONOTONIC, &bad));
  SAY(pthread_rwlock_timedwrlock(&l, &past));
  SAY(pthread_rwlock_wrlock(&l));
  SAY(pthread_rwlock_rdlock(&l));
  SAY(pthread_rwlock_timedrdlock(&l, &past));
  SAY(pthread_rwlock_unlock(&l));
}

static void* with_mutex(void* m) {
  SAY(pthread_mutex_timedlock(m, &past));
  SAY(pthread_mutex_timedlock(m, &bad));
  SAY(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &past));
  SAY(pthread_mutex_clocklock(m, wrong, &past));
  SAY(pthread_mutex_trylock(m));
  return NULL;
}
static void mutexes(void) {
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  SAY(pthread_mutex_clocklock(&m, wrong, &past));
  SAY(pthread_mutex_timedlock(&m, &past));
  run(with_mutex, &m);
  SAY(pthread_mutex_unlock(&m));
}

static void* die(void* m) {
  pthread_mutex_lock(m);
  return NULL;
}
// An emulator may have none: nobody hears then that the owner of a robust mutex has died.
static int has_robust_lists(void) {
  void* head;
  size_t size;
  return syscall(SYS_get_robust_list, 0, &head, &size) == 0;
}
static void robust_mutexes(int kind, int consistent) {
  printf("robust, kind %d, made consistent: %d\n", kind, consistent);
  pthread_mutex_t m;
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
  pthread_mutexattr_settype(&a, kind);
  pthread_mutex_init(&m, &a);
  run(die, &m);
  SAY(pthread_mutex_lock(&m));
  if (consistent) SAY(pthread_mutex_consistent(&m));
  run(with_mutex, &m);
  SAY(pthread_mutex_unlock(&m));
  for (int i = 0; i < 2; ++i) {
    SAY(pthread_mutex_lock(&m));
    if (kind != PTHREAD_MUTEX_NORMAL) SAY(pthread_mutex_lock(&m));
    SAY(pthread_mutex_unlock(&m));
    if (kind == PTHREAD_MUTEX_RECURSIVE) SAY(pthread_mutex_unlock(&m));
  }
  if (!consistent) run(with_mutex, &m);
  SAY(pthread_mutex_destroy(&m));
}

static void semaphores(void) {
  int value = 0;
  sem_init(&semaphore, 0, 1);
  SAY_ERRNO(sem_timedwait(&semaphore, &bad));
  SAY_ERRNO(sem_timedwait(&semaphore, &negative));
  SAY_ERRNO(sem_clockwait(&semaphore, wrong, &past));
  SAY_ERRNO(sem_getvalue(&semaphore, &value));
  say("value", value);
  SAY_ERRNO(sem_timedwait(&semaphore, &past));
  SAY_ERRNO(sem_timedwait(&semaphore, &past));
  SAY_ERRNO(sem_trywait(&semaphore));
}

static void conds(void) {
  pthread_mutex_lock(&mutex);
  SAY(pthread_cond_timedwait(&cond, &mutex, &bad));
  SAY(pthread_cond_timedwait(&cond, &mutex, &negative));
  SAY(pthread_cond_clockwait(&cond, &mutex, wrong, &past));
  SAY(pthread_mutex_unlock(&mutex));
}

// Calls that are cancellation points also where nobody has to wait.
static void cancel_before(void) {
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  pthread_cancel(pthread_self());
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
}
static void* waits_cancelled(void* unused) {
  cancel_before();
  sem_wait(&semaphore);
  return unused;
}
static void* timed_waits_cancelled(void* unused) {
  cancel_before();
  sem_timedwait(&semaphore, &past);
  return unused;
}
static void unlock(void* m) { SAY(pthread_mutex_unlock(m)); }
static void* cond_waits_cancelled(void* m) {
  pthread_mutex_lock(m);
  pthread_cleanup_push(unlock, m);
  cancel_before();
  pthread_cond_wait(&cond, m);
  pthread_cleanup_pop(1);
  return NULL;
}
static void is_cancelled(const char* what, void* (*body)(void*), void* with) {
  pthread_t thread;
  void* result = NULL;
  pthread_create(&thread, NULL, body, with);
  pthread_join(thread, &result);
  say(what, result == PTHREAD_CANCELED);
}
static void cancellations(void) {
  pthread_mutex_t checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
  int value = 0;
  sem_init(&semaphore, 0, 2);
  is_cancelled("sem_wait is cancelled", waits_cancelled, NULL);
  is_cancelled("sem_timedwait is cancelled", timed_waits_cancelled, NULL);
  sem_getvalue(&semaphore, &value);
  say("value", value);
  is_cancelled("pthread_cond_wait is cancelled", cond_waits_cancelled, &checked);
}

// ---- a wait that is cancelled

static int stays;
static void in_handler(void* held) {
  puts("handler");
  fflush(stdout);
  while (stays)
    pause();
  if (held != NULL) pthread_mutex_unlock(held);
}
static void* waits_on_cond(void* unused) {
  pthread_mutex_lock(&mutex);
  pthread_cleanup_push(in_handler, &mutex);
  pthread_cond_wait(&cond, &mutex);
  pthread_cleanup_pop(1);
  return unused;
}
static void* waits_on_semaphore(void* unused) {
  pthread_cleanup_push(in_handler, NULL);
  sem_wait(&semaphore);
  pthread_cleanup_pop(1);
  return unused;
}

// Each path is another stack, which a profile unwinds if it takes the call for a signal that
// somebody waits for.
static __attribute__((noinline)) int signal_by(int path, int on_cond) {
  if (path <= 1) return on_cond ? pthread_cond_signal(&cond) : sem_post(&semaphore);
  int result;
  if (path % 2 == 0) {
    result = signal_by(path / 2, on_cond);
    __asm__ volatile("/* even */" ::: "memory");
  } else {
    result = signal_by(path / 2, on_cond);
    __asm__ volatile("/* odd */" ::: "memory");
  }
  return result;
}
static void cancelled(int on_cond) {
  enum { kSleep = 100000, kWaits = 3, kPaths = 100 };
  sem_init(&semaphore, 0, 0);
  for (int i = 0; i <= kWaits; ++i) {
    pthread_t thread;
    stays = i == kWaits;
    pthread_create(&thread, NULL, on_cond ? waits_on_cond : waits_on_semaphore, NULL);
    usleep(kSleep);  // whether it waits by then or not, it is cancelled
    pthread_cancel(thread);
    if (!stays) pthread_join(thread, NULL);
    for (int path = 1; i == kWaits - 1 && path <= kPaths; ++path)
      signal_by(path, on_cond);
    if (i == kWaits - 1) sem_init(&semaphore, 0, 0);
  }
  while (getchar() != EOF) {}
  _exit(0);
}

int main(int argc, char** argv) {
  if (argc == 3) cancelled(strcmp(argv[2], "cond") == 0);
  if (behind_begin != NULL) behind_begin();
  rwlocks();
  mutexes();
  for (int kind = PTHREAD_MUTEX_NORMAL; has_robust_lists() && kind <= PTHREAD_MUTEX_ERRORCHECK;
       ++kind) {
    robust_mutexes(kind, 0);
    robust_mutexes(kind, 1);
  }
  semaphores();
  conds();
  if (behind_end != NULL) behind_end();
  cancellations();
  return 0;
}
