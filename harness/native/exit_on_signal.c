// lockswap-exit.so, preloaded into a server whose acquisitions are counted: a signal that would end
// the program at once calls exit() instead, so that the library under test writes its counts.
// Signals that the program handles itself are left to it. Never used while anything is measured.
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>

static const int deadly[] = {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2};
enum { count = sizeof deadly / sizeof deadly[0] };
static sem_t wanted;

static void ask(int number) {
  (void)number;
  sem_post(&wanted);
}

// exit() may not be called in a signal handler: a thread of its own does it.
static void* leave(void* unused) {
  while (sem_wait(&wanted) != 0) {}
  exit(0);
  return unused;
}

static void replace(void (*from)(int), void (*to)(int)) {
  for (int i = 0; i < count; ++i) {
    struct sigaction now;
    if (sigaction(deadly[i], NULL, &now) != 0 || now.sa_handler != from) continue;
    now.sa_handler = to;
    now.sa_flags = SA_RESTART;
    sigaction(deadly[i], &now, NULL);
  }
}

// A forked worker does not have the thread: there the signals are deadly again.
static void in_child(void) { replace(ask, SIG_DFL); }

__attribute__((constructor)) static void start(void) {
  sigset_t all, before;
  pthread_t thread;
  if (sem_init(&wanted, 0, 0) != 0) return;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  int failed = pthread_create(&thread, NULL, leave, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (failed) return;
  pthread_detach(thread);
  pthread_atfork(NULL, NULL, in_child);
  replace(SIG_DFL, ask);
}
