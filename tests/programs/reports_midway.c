// Calls lockswap_write_stats again and again while threads take locks, and compares each report, in
// the file REPORTS.<pid>, with what they took meanwhile. At the end it prints the number of takes.
//   reports_midway REPORTS LOCKS     locks that each thread goes through, at most 1000
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { threads = 2, rounds = 1000, reports = 5 };
static pthread_rwlock_t locks[1000];
static atomic_long begun, done;
static atomic_int go_on = 1;
static int used;

static void* work(void* unused) {
  for (int i = 0; i < rounds || go_on; ++i) {
    atomic_fetch_add(&begun, 1);
    pthread_rwlock_rdlock(&locks[i % used]);
    pthread_rwlock_unlock(&locks[i % used]);
    atomic_fetch_add(&done, 1);
  }
  return unused;
}

static long reads_in(const char* name) {
  static char text[65536];
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", name, (int)getpid());
  FILE* file = fopen(path, "r");
  if (file == NULL) return -1;
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  const char* at = strstr(text, "\"totals\":{\"reads\":");
  return at == NULL ? -1 : atol(at + strlen("\"totals\":{\"reads\":"));
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  used = atoi(argv[2]);
  void (*write_stats)(void) = NULL;
  *(void**)&write_stats = dlsym(RTLD_DEFAULT, "lockswap_write_stats");
  if (write_stats == NULL) return 3;
  pthread_t ids[threads];
  for (int i = 0; i < threads; ++i)
    pthread_create(&ids[i], NULL, work, NULL);
  for (int i = 0; i < reports; ++i) {
    const long least = done;
    write_stats();
    const long most = begun, found = reads_in(argv[1]);
    // A report may miss what a thread that used more than one lock is just passing on.
    if (found < 0 || found > most || (used == 1 && found < least)) {
      printf("report %d has %ld reads, there were %ld to %ld\n", i, found, least, most);
      return 1;
    }
  }
  go_on = 0;
  for (int i = 0; i < threads; ++i)
    pthread_join(ids[i], NULL);
  printf("%ld\n", (long)done);
  return 0;
}
