// A filter of system calls, and locks that have to work behind it.
//
//   filters CALL WHEN    CALL is refused with EPERM. WHEN: "early", before the library starts (the
//                        program starts itself again), or "late", when locks were used already
//
// Exit status 2: there is no such call, or no filter can be had.
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common.h"

static const struct {
  const char* name;
  unsigned number;
} calls[] = {
    {"gettid", SYS_gettid},
    {"mprotect", SYS_mprotect},
    {"madvise", SYS_madvise},
    {"membarrier", SYS_membarrier},
    {"sched_yield", SYS_sched_yield},
    {"nanosleep", SYS_nanosleep},
    {"sched_getattr", SYS_sched_getattr},
    {"prctl", SYS_prctl},
    {"sched_getaffinity", SYS_sched_getaffinity},
    {"rt_sigprocmask", SYS_rt_sigprocmask},
    {"openat", SYS_openat},
    {"fstat", SYS_fstat},
    {"pread64", SYS_pread64},
};

static unsigned number_of(const char* name) {
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i) {
    if (strcmp(calls[i].name, name) == 0) return calls[i].number;
  }
  exit(2);
}

static void refuse(unsigned number) {
  struct sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {sizeof program / sizeof program[0], program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    perror("seccomp");
    exit(2);
  }
}

// --- what locks have to do

static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t errorcheck = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

// While the main thread holds all of them.
static void* is_kept_out(void* unused) {
  NEED(pthread_mutex_trylock(&recursive) == EBUSY);
  NEED(pthread_mutex_unlock(&recursive) == EPERM);
  NEED(pthread_mutex_trylock(&errorcheck) == EBUSY);
  NEED(pthread_mutex_unlock(&errorcheck) == EPERM);
  NEED(pthread_rwlock_tryrdlock(&rwlock) == EBUSY);
  struct timespec soon;
  clock_gettime(CLOCK_REALTIME, &soon);
  soon.tv_nsec += 1000000;
  if (soon.tv_nsec >= 1000000000) {
    soon.tv_nsec -= 1000000000;
    ++soon.tv_sec;
  }
  NEED(pthread_mutex_timedlock(&errorcheck, &soon) == ETIMEDOUT);
  NEED(pthread_rwlock_timedwrlock(&rwlock, &soon) == ETIMEDOUT);
  NEED(pthread_rwlock_timedrdlock(&rwlock, &soon) == ETIMEDOUT);
  return unused;
}
static void kinds_are_kept(void) {
  NEED(pthread_mutex_lock(&recursive) == 0);
  NEED(pthread_mutex_lock(&recursive) == 0);
  NEED(pthread_mutex_lock(&errorcheck) == 0);
  NEED(pthread_mutex_lock(&errorcheck) == EDEADLK);
  NEED(pthread_rwlock_wrlock(&rwlock) == 0);
  NEED(pthread_rwlock_wrlock(&rwlock) == EDEADLK);
  pthread_join(start_thread(is_kept_out, NULL), NULL);
  NEED(pthread_mutex_unlock(&recursive) == 0);
  NEED(pthread_mutex_unlock(&recursive) == 0);
  NEED(pthread_mutex_unlock(&recursive) == EPERM);
  NEED(pthread_mutex_unlock(&errorcheck) == 0);
  NEED(pthread_mutex_unlock(&errorcheck) == EPERM);
  NEED(pthread_rwlock_unlock(&rwlock) == 0);
}

enum { kThreads = 4, kRounds = 2000 };
static long counts[3];
static int turn;

static void* works(void* which) {
  const int me = (int)(long)which;
  for (int i = 0; i < kRounds; ++i) {
    NEED(pthread_rwlock_rdlock(&rwlock) == 0);
    const long seen = counts[0];
    NEED(seen == counts[1]);
    NEED(pthread_rwlock_unlock(&rwlock) == 0);
    if (i % 8 != 0) continue;
    NEED(pthread_rwlock_wrlock(&rwlock) == 0);
    ++counts[0];
    ++counts[1];
    NEED(pthread_rwlock_unlock(&rwlock) == 0);
    NEED(pthread_mutex_lock(&recursive) == 0);
    NEED(pthread_mutex_lock(&recursive) == 0);
    ++counts[2];
    NEED(pthread_mutex_unlock(&recursive) == 0);
    NEED(pthread_mutex_unlock(&recursive) == 0);
  }
  for (int i = 0; i < 50; ++i) {
    NEED(pthread_mutex_lock(&plain) == 0);
    while (turn % kThreads != me)
      NEED(pthread_cond_wait(&changed, &plain) == 0);
    ++turn;
    NEED(pthread_cond_broadcast(&changed) == 0);
    NEED(pthread_mutex_unlock(&plain) == 0);
  }
  return NULL;
}
static void threads_work(void) {
  pthread_t threads[kThreads];
  memset(counts, 0, sizeof counts);
  turn = 0;
  for (int t = 0; t < kThreads; ++t)
    threads[t] = start_thread(works, (void*)(long)t);
  for (int t = 0; t < kThreads; ++t)
    pthread_join(threads[t], NULL);
  NEED(counts[0] == kThreads * (kRounds / 8) && counts[1] == counts[0] && counts[2] == counts[0]);
}

// A fork while another thread waits for a lock that the forking thread holds. glibc's own locks are
// not good for that.
static int swaps(const char* variable) { return getenv(variable) != NULL; }
static atomic_int comes;
static void* waits(void* unused) {
  atomic_store(&comes, 1);
  if (swaps("LOCKSWAP_RWLOCK")) {
    NEED(pthread_rwlock_wrlock(&rwlock) == 0);
    NEED(pthread_rwlock_unlock(&rwlock) == 0);
  }
  if (swaps("LOCKSWAP_MUTEX")) {
    NEED(pthread_mutex_lock(&recursive) == 0);
    NEED(pthread_mutex_unlock(&recursive) == 0);
  }
  return unused;
}
static void a_child_works(void) {
  const int rw = swaps("LOCKSWAP_RWLOCK"), mutex = swaps("LOCKSWAP_MUTEX");
  NEED(!rw || pthread_rwlock_wrlock(&rwlock) == 0);
  NEED(!mutex || pthread_mutex_lock(&recursive) == 0);
  const pthread_t waiter = start_thread(waits, NULL);
  while (atomic_load(&comes) == 0)
    sleep_ms(1);
  sleep_ms(10);
  const pid_t child = fork();
  if (child == 0) {
    // Debuggers find the thread; and it is this one.
    NEED(pthread_mutex_lock(&recursive) == 0);
    NEED(recursive.__data.__owner == getpid());
    NEED(pthread_mutex_unlock(&recursive) == 0);
    NEED(!mutex || pthread_mutex_unlock(&recursive) == 0);
    NEED(!rw || pthread_rwlock_wrlock(&rwlock) == EDEADLK);
    NEED(!rw || pthread_rwlock_unlock(&rwlock) == 0);
    kinds_are_kept();
    threads_work();
    _exit(0);
  }
  NEED(!rw || pthread_rwlock_unlock(&rwlock) == 0);
  NEED(!mutex || pthread_mutex_unlock(&recursive) == 0);
  pthread_join(waiter, NULL);
  int status = -1;
  waitpid(child, &status, 0);
  NEED(status == 0);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const unsigned number = number_of(argv[1]);
  if (strcmp(argv[2], "early") == 0) {
    refuse(number);
    char* const again[] = {argv[0], argv[1], "now", NULL};
    execv("/proc/self/exe", again);
    return 2;
  }
  const pid_t me = getpid();
  if (strcmp(argv[2], "late") == 0) {
    kinds_are_kept();
    threads_work();
    refuse(number);
  }
  NEED(pthread_mutex_lock(&recursive) == 0);
  NEED(recursive.__data.__owner == me);
  NEED(pthread_mutex_unlock(&recursive) == 0);
  kinds_are_kept();
  threads_work();
  a_child_works();
  return 0;
}
