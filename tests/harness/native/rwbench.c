// A program under test: each of THREADS readers takes one rwlock COUNT times, every tenth time as a
// writer.
//   rwbench THREADS COUNT [--hang | --crash | --wrong | --silent | --nolock | --status N]
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crew.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static long count, guarded;
static int locking = 1;

static void* work(void* unused) {
  (void)unused;
  for (long i = 0; i < count; ++i) {
    int writes = i % 10 == 0;
    if (locking) (writes ? pthread_rwlock_wrlock : pthread_rwlock_rdlock)(&lock);
    if (writes) ++guarded;
    if (locking) pthread_rwlock_unlock(&lock);
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  int threads = atoi(argv[1]);
  count = atol(argv[2]);
  const char* mode = argc > 3 ? argv[3] : "";
  if (strcmp(mode, "--hang") == 0)
    for (;;)
      pause();
  if (strcmp(mode, "--crash") == 0) raise(SIGSEGV);
  if (strcmp(mode, "--nolock") == 0) locking = 0;
  if (strcmp(mode, "--silent") == 0) return 0;
  double s = seconds_of(threads, work);
  double total = (double)threads * (double)count;
  printf("threads: %d\nreads/s: %.1f\nwrites/s: %.1f\noperations: %.0f\n", threads, 0.9 * total / s,
         0.1 * total / s, total);
  puts(strcmp(mode, "--wrong") == 0 ? "result: broken" : "result: ok");
  return strcmp(mode, "--status") == 0 ? atoi(argv[4]) : 0;
}
