// A stand-in for liblockswap.so in the harness's own tests: it counts calls on rwlocks and mutexes
// and writes the JSON that the harness reads, but leaves the locking to glibc. LOCKSWAP_RWLOCK
// chooses how it misbehaves: slow5 and slow20 take 5 and 20 % of the steps of steady.c in every
// release.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "steps.h"

static atomic_long reads, writes, acquisitions;
static int (*next_rdlock)(pthread_rwlock_t*), (*next_wrlock)(pthread_rwlock_t*),
    (*next_unlock)(pthread_rwlock_t*);
static int (*next_lock)(pthread_mutex_t*);
static long more_steps;

static int named(const char* name) {
  const char* lock = getenv("LOCKSWAP_RWLOCK");
  return lock && strcmp(lock, name) == 0;
}

__attribute__((constructor)) static void start(void) {
  next_rdlock = (int (*)(pthread_rwlock_t*))dlsym(RTLD_NEXT, "pthread_rwlock_rdlock");
  next_wrlock = (int (*)(pthread_rwlock_t*))dlsym(RTLD_NEXT, "pthread_rwlock_wrlock");
  next_unlock = (int (*)(pthread_rwlock_t*))dlsym(RTLD_NEXT, "pthread_rwlock_unlock");
  next_lock = (int (*)(pthread_mutex_t*))dlsym(RTLD_NEXT, "pthread_mutex_lock");
  more_steps = named("slow5") ? STEPS / 20 : named("slow20") ? STEPS / 5 : 0;
  if (named("crashes")) abort();
  if (named("hangs"))
    for (;;)
      pause();
}

int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  atomic_fetch_add(&reads, 1);
  return next_rdlock(lock);
}

int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  atomic_fetch_add(&writes, 1);
  return next_wrlock(lock);
}

int pthread_rwlock_unlock(pthread_rwlock_t* lock) {
  take_steps(more_steps);
  return next_unlock(lock);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  atomic_fetch_add(&acquisitions, 1);
  return next_lock(mutex);
}

static void put_mutexes(FILE* out) {
  const char* mutex = getenv("LOCKSWAP_MUTEX");
  if (!mutex) {
    fprintf(out, "\"mutexes\":null");
    return;
  }
  long n = strcmp(mutex, "bypassed") == 0 ? 0 : acquisitions;
  fprintf(out,
          "\"mutexes\":{\"mutex\":\"%s\",\"calls\":%ld,\"locks\":%d,"
          "\"totals\":{\"acquisitions\":%ld,\"to_glibc\":0,\"waits\":0},\"busiest\":[]}",
          mutex, n, n != 0, n);
}

__attribute__((destructor)) void lockswap_write_stats(void) {
  const char* stats = getenv("LOCKSWAP_STATS");
  if (!stats || !*stats) return;
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", stats, (int)getpid());
  FILE* out = strcmp(stats, "1") == 0 ? stderr : fopen(path, "w");
  if (!out) return;
  long r = named("bypassed") ? 0 : reads, w = named("bypassed") ? 0 : writes;
  long fast = named("bravo-ba") ? r : 0;
  fprintf(out,
          "{\"schema\":1,\"lockswap\":\"0.1.0\",\"pid\":%d,\"program\":\"%s\",\"rwlock\":\"%s\","
          "\"calls\":%ld,\"locks\":1,"
          "\"totals\":{\"reads\":%ld,\"writes\":%ld,\"fast_reads\":%ld,\"slow_reads_bias_off\":0,"
          "\"slow_reads_collision\":0},\"busiest\":[],",
          (int)getpid(), program_invocation_short_name, getenv("LOCKSWAP_RWLOCK"), r + w, r, w,
          fast);
  put_mutexes(out);
  fprintf(out, "}\n");
  if (out != stderr) fclose(out);
}
