// A program whose time is known: each of THREADS threads makes COUNT rounds of acquire, STEPS of
// arithmetic, release.
//   steady THREADS COUNT [write]
// The stand-in locks slow5 and slow20 add 5 % and 20 % of the same steps to each release, so they
// make it so much slower, whatever the machine.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crew.h"
#include "steps.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static long count;
static int writing;

static void* work(void* unused) {
  (void)unused;
  for (long i = 0; i < count; ++i) {
    if (writing) {
      pthread_rwlock_wrlock(&lock);
    } else {
      pthread_rwlock_rdlock(&lock);
    }
    take_steps(STEPS);
    pthread_rwlock_unlock(&lock);
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  int threads = atoi(argv[1]);
  count = atol(argv[2]);
  writing = argc > 3 && strcmp(argv[3], "write") == 0;
  double s = seconds_of(threads, work);
  printf("time: %.6f\n", s);
  return 0;
}
