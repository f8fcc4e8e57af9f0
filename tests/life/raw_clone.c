/* A child that is made by a raw clone, and then puts its id where glibc has it, as Firefox's fork
 * server does. Prints who owns its locks before and behind that, and what their functions return:
 * glibc's answers without lockswap. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/syscall.h>
#include <sys/wait.h>

static int parent, child;

static const char* name_of(int id) {
  return id == 0        ? "nobody"
         : id == parent ? "the parent's thread"
         : id == child  ? "the child's thread"
                        : "another thread";
}

static pthread_mutex_t make(int type, int robust) {
  pthread_mutex_t m;
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  pthread_mutexattr_settype(&a, type);
  pthread_mutexattr_setrobust(&a, robust);
  if (pthread_mutex_init(&m, &a) != 0) abort();
  return m;
}

static void use_mutex(const char* when, const char* what, int type, int robust) {
  pthread_mutex_t m = make(type, robust);
  const int locked = pthread_mutex_lock(&m);
  printf("%s: %s mutex: lock %d, owner %s", when, what, locked, name_of(m.__data.__owner));
  if (type != PTHREAD_MUTEX_NORMAL) {
    const int again = pthread_mutex_lock(&m);
    printf(", again %d", again);
    if (again == 0) printf(", unlock %d", pthread_mutex_unlock(&m));
  }
  const int unlocked = pthread_mutex_unlock(&m);
  printf(", unlock %d, owner %s", unlocked, name_of(m.__data.__owner));
  if (type != PTHREAD_MUTEX_NORMAL) printf(", unlock %d", pthread_mutex_unlock(&m));
  puts("");
  pthread_mutex_destroy(&m);
}
static void use_locks(const char* when) {
  use_mutex(when, "normal", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED);
  use_mutex(when, "recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED);
  use_mutex(when, "error-checking", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED);
  use_mutex(when, "robust", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ROBUST);
  pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
  const int locked = pthread_rwlock_wrlock(&l);
  printf("%s: rwlock: wrlock %d, writer %s", when, locked, name_of(l.__data.__cur_writer));
  const int wrlock = pthread_rwlock_wrlock(&l), rdlock = pthread_rwlock_rdlock(&l);
  const int unlocked = pthread_rwlock_unlock(&l), writer = l.__data.__cur_writer;
  const int read = pthread_rwlock_rdlock(&l), unread = pthread_rwlock_unlock(&l);
  printf(", wrlock %d, rdlock %d, unlock %d, writer %s", wrlock, rdlock, unlocked, name_of(writer));
  printf(", rdlock %d, unlock %d\n", read, unread);
}

static void* use_in_thread(void* unused) {
  child = (int)syscall(SYS_gettid);
  use_locks("in a thread of the child");
  return unused;
}

static void be_child(volatile int* word) {
  use_locks("before");
  child = (int)syscall(SYS_gettid);
  pthread_mutex_t held[] = {make(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED),
                            make(PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED),
                            make(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED)};
  for (int i = 0; i < 3; ++i)
    pthread_mutex_lock(&held[i]);
  *word = child;
  for (int i = 0; i < 3; ++i) {
    const int tried = pthread_mutex_trylock(&held[i]);
    printf("taken before, tried behind: %d, unlock %d\n", tried, pthread_mutex_unlock(&held[i]));
  }
  use_locks("behind");
  const int me = child;
  pthread_t thread;
  if (pthread_create(&thread, NULL, use_in_thread, NULL) != 0) abort();
  pthread_join(thread, NULL);
  child = me;
  use_locks("behind the thread");
  fflush(stdout);
  _exit(0);
}

int main(void) {
  setvbuf(stdout, NULL, _IOFBF, 1 << 16);
  parent = (int)syscall(SYS_gettid);
  volatile int* word = (volatile int*)pthread_self();
  for (int i = 0; *word != parent; ++i, ++word) {
    if (i == 1000) return 77; /* glibc has it elsewhere */
  }
  use_locks("in the parent");
  fflush(stdout);
  const long made = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (made == 0) be_child(word);
  int status = 1;
  return waitpid((pid_t)made, &status, 0) == made && status == 0 ? 0 : 1;
}
