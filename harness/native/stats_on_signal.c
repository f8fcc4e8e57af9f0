// lockswap-stats-on-signal.so is preloaded beside liblockswap.so. A signal that ends the program
// first makes it write its statistics, then ends it as if this library were not there: by its
// default action, without exit handlers. A program that handles a signal itself, or ignores it,
// goes on doing so.
//
// The program does not find a handler that it did not install: sigaction() and signal() show it the
// default action, and where it asks for that, it gets the handler here. (Python looks whether
// Ctrl-C has its default action before it installs its own handler; node sets all signals to
// theirs.)
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

// Those by which a program is ended from outside. Not those of a crash, after which nothing in the
// process can be trusted.
static const int deadly[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM, SIGTERM};
enum { count = sizeof deadly / sizeof deadly[0] };

// The version of the oldest glibc. Before 2.34 it is in libdl, which a program may lack.
#if defined(__x86_64__)
__asm__(".symver dlsym,dlsym@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver dlsym,dlsym@GLIBC_2.17");
#endif
#pragma weak dlsym
extern void lockswap_write_stats(void) __attribute__((weak));
extern int __sigaction(int, const struct sigaction*, struct sigaction*);  // libc's own

static void (*write_stats)(void);
static int (*next_sigaction)(int, const struct sigaction*, struct sigaction*);
static pid_t process;
static atomic_flag ending = ATOMIC_FLAG_INIT;

static void end(int number) {
  // A child of vfork runs in its parent's memory: the counts are not its own.
  if (getpid() == process) {
    // If another thread ends the program already, this one waits for that.
    while (atomic_flag_test_and_set(&ending))
      pause();
    write_stats();
  }
  struct sigaction action = {.sa_handler = SIG_DFL};
  next_sigaction(number, &action, NULL);
  sigset_t this;
  sigemptyset(&this);
  sigaddset(&this, number);
  raise(number);
  sigprocmask(SIG_UNBLOCK, &this, NULL);  // pthread_sigmask has a newer version
}

static int is_deadly(int number) {
  for (int i = 0; i < count; ++i)
    if (deadly[i] == number) return 1;
  return 0;
}

// The handler runs in the thread that the signal meets, on its alternate stack, if it has one.
static struct sigaction ours(void) {
  struct sigaction action = {.sa_handler = end, .sa_flags = SA_ONSTACK};
  sigfillset(&action.sa_mask);
  return action;
}

static void find_next(void) {
  if (dlsym != NULL) *(void**)&next_sigaction = dlsym(RTLD_NEXT, "sigaction");
  if (next_sigaction == NULL) next_sigaction = __sigaction;
}

int sigaction(int sig, const struct sigaction* act, struct sigaction* oact) {
  if (next_sigaction == NULL) find_next();  // in a constructor before ours
  const struct sigaction action = ours();
  const int asks_for_default = act != NULL && act->sa_handler == SIG_DFL;
  if (write_stats != NULL && asks_for_default && is_deadly(sig)) act = &action;
  const int result = next_sigaction(sig, act, oact);
  if (result == 0 && oact != NULL && oact->sa_handler == end) {
    memset(oact, 0, sizeof *oact);
    oact->sa_handler = SIG_DFL;
  }
  return result;
}

void (*signal(int sig, void (*handler)(int)))(int) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
  sigemptyset(&action.sa_mask);
  return sigaction(sig, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

static void in_child(void) {
  process = getpid();
  atomic_flag_clear(&ending);
}

__attribute__((constructor)) static void start(void) {
  if (next_sigaction == NULL) find_next();
  write_stats = lockswap_write_stats;
  if (write_stats == NULL) return;
  process = getpid();
  pthread_atfork(NULL, NULL, in_child);
  for (int i = 0; i < count; ++i) {
    struct sigaction now;
    if (next_sigaction(deadly[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL) {
      now = ours();
      next_sigaction(deadly[i], &now, NULL);
    }
  }
}
