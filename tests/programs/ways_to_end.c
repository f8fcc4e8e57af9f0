// Takes a lock for reading ten times, then ends in the way that its argument names. preload.py
// looks at the status and at the statistics.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/wait.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static const char* way;
static atomic_int rounds;
static volatile sig_atomic_t heard;

static int is(const char* name) { return strcmp(way, name) == 0; }

static void need(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "%s: %s\n", way, what);
  _exit(99);
}

static void read_ten_times(void) {
  for (int i = 0; i < 10; ++i) {
    pthread_rwlock_rdlock(&lock);
    pthread_rwlock_unlock(&lock);
  }
}

static void* read_for_ever(void* unused) {
  for (;; ++rounds)
    read_ten_times();
  return unused;
}

static void die_properly(int number) {
  signal(number, SIG_DFL);
  raise(number);
}

static void hear(int number) {
  (void)number;
  heard = 1;
}

static void die_in(pid_t child) {
  if (child == 0) {
    raise(SIGTERM);
    _exit(98);
  }
  int status;
  need(waitpid(child, &status, 0) == child, "no child");
  need(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "the child did not die by SIGTERM");
}

int main(int argc, char** argv) {
  way = argc > 1 ? argv[1] : "";
  sigset_t set, none;
  sigemptyset(&none);
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  struct sigaction old, action = {.sa_handler = SIG_DFL};
  read_ten_times();

  if (is("killed")) raise(SIGTERM);
  if (is("killed among busy threads")) {
    pthread_t thread;
    for (int i = 0; i < 4; ++i)
      pthread_create(&thread, NULL, read_for_ever, NULL);
    while (rounds < 100)
      usleep(1000);
    kill(getpid(), SIGTERM);
    pause();
  }
  if (is("killed by its own handler")) {
    signal(SIGTERM, die_properly);
    raise(SIGTERM);
  }
  if (is("killed in sigsuspend")) {
    sigprocmask(SIG_BLOCK, &set, NULL);
    kill(getpid(), SIGTERM);
    sigsuspend(&none);
  }
  if (is("killed in a forked child")) die_in(fork());
  if (is("killed in a child of vfork")) {
    die_in(vfork());  // NOLINT: what such a child must not do is what is tried
    raise(SIGTERM);
  }
  if (is("asks for the default action")) {
    need(sigaction(SIGTERM, &action, &old) == 0 && old.sa_handler == SIG_DFL, "a strange action");
    need(signal(SIGTERM, SIG_DFL) == SIG_DFL, "a strange handler");
    raise(SIGTERM);
  }
  if (is("handles it")) {
    need(signal(SIGTERM, hear) == SIG_DFL, "a strange handler");
    need(sigaction(SIGTERM, NULL, &old) == 0 && old.sa_handler == hear, "not its handler");
    raise(SIGTERM);
    return heard ? 5 : 1;
  }
  if (is("ignores it")) {
    need(signal(SIGTERM, SIG_IGN) == SIG_DFL, "a strange handler");
    raise(SIGTERM);
    return 6;
  }
  if (is("_exit")) {
    void (*write_stats)(void) = NULL;
    *(void**)&write_stats = dlsym(RTLD_DEFAULT, "lockswap_write_stats");
    need(write_stats != NULL, "no lockswap_write_stats");
    write_stats();
    _exit(7);
  }
  return 0;
}
