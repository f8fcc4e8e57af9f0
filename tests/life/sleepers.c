// Two threads that take turns, and sleep until it is their own.
//
//   sleepers N     N turns at once, then N turns after each line on standard input; a line is
//                  printed after each, and the end of the input ends the program
//
// "bind" instead of a line: both threads may run on the first processor alone from then on.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long turns, until;

static void bind_to_the_first(void) {
  cpu_set_t all, one;
  if (sched_getaffinity(0, sizeof all, &all) != 0) exit(2);
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  }
  if (sched_setaffinity(0, sizeof one, &one) != 0) exit(2);
}

static int binds;
static void* takes_turns(void* unused) {
  if (binds) bind_to_the_first();
  for (;;) {
    pthread_mutex_lock(&mutex);
    if (turns >= until) break;
    usleep(50);  // longer than anybody spins: the other one sleeps
    ++turns;
    pthread_mutex_unlock(&mutex);
  }
  pthread_mutex_unlock(&mutex);
  return unused;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  char line[64] = "";
  do {
    binds = binds || strncmp(line, "bind", 4) == 0;
    until = turns + atol(argv[1]);
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) {
      if (pthread_create(&threads[i], NULL, takes_turns, NULL) != 0) return 2;
    }
    for (int i = 0; i < 2; ++i)
      pthread_join(threads[i], NULL);
    puts("done");
    fflush(stdout);
  } while (fgets(line, sizeof line, stdin) != NULL);
  return 0;
}
