// Uncontended locks where a system call kills, or a look at the processor's clock.
//
//   sandbox MODE THREAD    MODE: strict (SECCOMP_MODE_STRICT, which forbids both), clock
//                          (PR_SET_TSC). THREAD: main, thread (a new one), child (of a fork),
//                          clone (a child for which no handler of pthread_atfork runs). It uses
//                          locks that were used before.
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common.h"

static pthread_rwlock_t rwlocks[2] = {PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER};
static pthread_mutex_t mutexes[] = {PTHREAD_MUTEX_INITIALIZER,
                                    PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
                                    PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP};
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int strict;
static atomic_int done;

static void use(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    for (int l = 0; l < 2; ++l) {
      pthread_rwlock_t* lock = &rwlocks[l];
      // More reads than the biased locks need to be biased again.
      for (int k = 0; k < 40; ++k) {
        NEED((k % 4 == 3 ? pthread_rwlock_tryrdlock(lock) : pthread_rwlock_rdlock(lock)) == 0);
        if (k % 8 == 0) {
          NEED(pthread_rwlock_rdlock(lock) == 0);
          NEED(pthread_rwlock_unlock(lock) == 0);
        }
        NEED(pthread_rwlock_unlock(lock) == 0);
      }
      NEED((i % 2 == 0 ? pthread_rwlock_wrlock(lock) : pthread_rwlock_trywrlock(lock)) == 0);
      NEED(pthread_rwlock_unlock(lock) == 0);
    }
    for (int m = 0; m < 3; ++m) {
      NEED((i % 2 == 0 ? pthread_mutex_lock(&mutexes[m]) : pthread_mutex_trylock(&mutexes[m])) ==
           0);
      NEED(pthread_cond_signal(&cond) == 0 && pthread_cond_broadcast(&cond) == 0);
      NEED(pthread_mutex_unlock(&mutexes[m]) == 0);
    }
  }
}

static void forbid(void) {
  if (strict) {
    NEED(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
  } else {
    NEED(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0);
  }
}
static void* confined(void* unused) {
  forbid();
  use(100);
  atomic_store(&done, 1);
  if (strict) syscall(SYS_exit, 0);
  return unused;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  strict = strcmp(argv[1], "strict") == 0;
  use(20);
  if (strcmp(argv[2], "main") == 0) confined(NULL);
  if (strcmp(argv[2], "thread") == 0) {
    pthread_join(start_thread(confined, NULL), NULL);
    return atomic_load(&done) == 1 ? 0 : 1;
  }
  const int cloned = strcmp(argv[2], "clone") == 0;
  if (cloned || strcmp(argv[2], "child") == 0) {
    const pid_t child = cloned ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
    if (child == 0) confined(NULL);
    if (child == 0) _exit(0);
    int status = -1;
    waitpid(child, &status, 0);
    return status == 0 ? 0 : 1;
  }
  return 0;
}
