/* A library that a program is linked to, so its constructor runs before a preloaded library's. The
 * constructor makes a thread that forks while the main thread is in lockswap's start: at its
 * FORK_AT-th call of one of the functions below, which this library has in libc's place. The child
 * uses locks. Without FORK_AT it is a library that does nothing.
 *
 *     FORK_AT=N FORK_BY=fork|clone forked_start
 *
 * Status: 0, with "good" in a line; 1: the child came to no good end; 3: the start has fewer calls.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>
#include <unistd.h>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static thrd_t forker;
static pthread_t starter;
static int inside, child_is_over;
static int counts, calls, fork_at = -1, status = 3;
static int by_clone;

/* Nothing of libc's that this library replaces, or that takes locks. */
static void set(int* word, int value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1);
}
static int wait_until_set(int* word) {
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == 0)
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, NULL);
  return *word;
}

static void use_locks(void) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  sem_t semaphore;
  int error = sem_init(&semaphore, 0, 1) | sem_wait(&semaphore);
  for (int i = 0; i < 3; ++i) {
    error |= pthread_mutex_lock(&mutex) | pthread_cond_broadcast(&cond);
    error |= pthread_rwlock_rdlock(&lock) | pthread_rwlock_unlock(&lock);
    error |= pthread_rwlock_wrlock(&lock) | pthread_rwlock_unlock(&lock);
    error |= pthread_mutex_unlock(&mutex);
  }
  if (error != 0) abort();
}
static void* use_locks_too(void* unused) {
  use_locks();
  return unused;
}

static void be_child(void) {
  use_locks();
  if (!by_clone) { /* after a raw clone glibc makes no threads */
    pthread_t other;
    if (pthread_create(&other, NULL, use_locks_too, NULL) != 0) abort();
    use_locks();
    pthread_join(other, NULL);
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      use_locks();
      _exit(0);
    }
    int how = 1;
    if (waitpid(grandchild, &how, 0) != grandchild || how != 0) abort();
  }
  _exit(0);
}

static int fork_in_start(void* unused) {
  if (wait_until_set(&inside) == 1) {
    const pid_t child = by_clone ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
    if (child == 0) be_child();
    int how = 1;
    status = waitpid(child, &how, 0) == child && how == 0 ? 0 : 1;
    set(&child_is_over, 1);
  }
  return unused != NULL;
}

/* The main thread is about to call one of them. */
static void look_in(void) {
  if (!counts || !pthread_equal(pthread_self(), starter)) return;
  if (calls++ != fork_at) return;
  set(&inside, 1);
  wait_until_set(&child_is_over);
}

/* The first call and the last one in the start. */
int pthread_setcancelstate(int state, int* old) {
  static int (*next)(int, int*);
  if (next == NULL) next = (int (*)(int, int*))dlsym(RTLD_NEXT, "pthread_setcancelstate");
  if (state == PTHREAD_CANCEL_DISABLE && fork_at >= 0 && calls == 0) counts = 1;
  look_in();
  if (state == PTHREAD_CANCEL_ENABLE) counts = 0;
  return next(state, old);
}
int strcmp(const char* a, const char* b) {
  look_in();
  while (*a != 0 && *a == *b) {
    ++a;
    ++b;
  }
  return *(const unsigned char*)a - *(const unsigned char*)b;
}
size_t strlen(const char* s) {
  look_in();
  size_t n = 0;
  while (s[n] != 0)
    ++n;
  return n;
}
void* memcpy(void* restrict to, const void* restrict from, size_t n) {
  look_in();
  for (size_t i = 0; i < n; ++i)
    ((char*)to)[i] = ((const char*)from)[i];
  return to;
}
void* memset(void* to, int byte, size_t n) {
  look_in();
  for (size_t i = 0; i < n; ++i)
    ((char*)to)[i] = (char)byte;
  return to;
}

__attribute__((constructor)) static void begin(void) {
  const char* at = getenv("FORK_AT");
  if (at == NULL) return;
  const char* by = getenv("FORK_BY");
  by_clone = by != NULL && by[0] == 'c';
  starter = pthread_self();
  if (thrd_create(&forker, fork_in_start, NULL) != thrd_success)
    abort(); /* fuzz starts in the other */
  fork_at = atoi(at);
}

int end_of_forked_start(void) {
  if (fork_at < 0) return 2;
  counts = 0;
  if (inside == 0) set(&inside, 2);
  thrd_join(forker, NULL);
  if (status == 0) puts("good");
  return status;
}
