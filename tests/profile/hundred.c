// A hundred reader-writer locks, of which one hurts: it is mostly read, by readers whose holds
// overlap, so glibc's lets the one writer starve.
//
// hundred SECONDS      ends after so many of processor time, and prints "updates/s: N" of these,
//                      which says the same on a busy machine
// hundred serve PORT   goes on until it is stopped, and sends a client that of the next 0.4 s
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/socket.h>

#define READERS 4
#define OTHERS 99
#define RARELY 16  // reads of the hot lock for each use of another, which isn't worth a try then

static pthread_rwlock_t hot = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t others[OTHERS];
static atomic_int over;
static long value;
static atomic_long updates;

static void hold(void) {
  for (volatile int i = 0; i < 300; ++i) {}
}

static void* read_all(void* number) {
  unsigned n = (unsigned)(size_t)number;
  while (!atomic_load_explicit(&over, memory_order_relaxed)) {
    pthread_rwlock_rdlock(&hot);
    hold();
    const long seen = value;
    pthread_rwlock_unlock(&hot);
    __asm__ volatile("" : : "r"(seen));
    if (++n % RARELY != 0) continue;
    pthread_rwlock_t* const other = &others[n / RARELY % OTHERS];
    pthread_rwlock_wrlock(other);
    pthread_rwlock_unlock(other);
  }
  return NULL;
}

static void* write_some(void* unused) {
  while (!atomic_load_explicit(&over, memory_order_relaxed)) {
    const struct timespec pause = {0, 500000};
    nanosleep(&pause, NULL);
    pthread_rwlock_wrlock(&hot);
    ++value;
    pthread_rwlock_unlock(&hot);
    ++updates;
  }
  return unused;
}

static void nap(double seconds) {
  const struct timespec t = {(time_t)seconds, (long)((seconds - (double)(long)seconds) * 1e9)};
  nanosleep(&t, NULL);
}

static double used(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int serve(int port) {
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listening, (struct sockaddr*)&at, sizeof at) != 0 || listen(listening, 5) != 0) {
    perror("hundred");
    return 1;
  }
  for (;;) {
    const int client = accept(listening, NULL, NULL);
    const long before = atomic_load(&updates);
    nap(0.4);
    dprintf(client, "updates/s: %.0f\n", (double)(atomic_load(&updates) - before) / 0.4);
    close(client);
  }
}

int main(int argc, char** argv) {
  const int serves = argc > 2 && strcmp(argv[1], "serve") == 0;
  const double seconds = argc > 1 ? atof(argv[1]) : 1;
  pthread_t threads[READERS + 1];
  for (int i = 0; i < OTHERS; ++i)
    pthread_rwlock_init(&others[i], NULL);
  for (size_t i = 0; i < READERS; ++i)
    pthread_create(&threads[i], NULL, read_all, (void*)(i * 31));
  pthread_create(&threads[READERS], NULL, write_some, NULL);
  if (serves) return serve(atoi(argv[2]));
  while (used() < seconds)
    nap(0.002);
  atomic_store(&over, 1);
  for (int i = 0; i <= READERS; ++i)
    pthread_join(threads[i], NULL);
  printf("updates/s: %.0f\n", (double)atomic_load(&updates) / seconds);
  return 0;
}
