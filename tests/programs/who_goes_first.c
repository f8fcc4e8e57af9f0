// A reader holds a lock, a writer waits: is another reader let in? Prints "readers" or "writers".
//
// usage: who_goes_first static|init|shared
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../asleep.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int writer_tid;

static void* write_once(void* unused) {
  (void)unused;
  atomic_store(&writer_tid, (int)gettid());
  pthread_rwlock_wrlock(&lock);
  pthread_rwlock_unlock(&lock);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (strcmp(argv[1], "static") != 0) {
    pthread_rwlockattr_t a;
    pthread_rwlockattr_init(&a);
    if (strcmp(argv[1], "shared") == 0) pthread_rwlockattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
    pthread_rwlock_init(&lock, &a);
    pthread_rwlockattr_destroy(&a);
  }
  pthread_rwlock_rdlock(&lock);
  pthread_t writer;
  pthread_create(&writer, NULL, write_once, NULL);
  for (int asleep = 0; asleep < 20; usleep(1000)) {
    const int tid = atomic_load(&writer_tid);
    asleep = tid != 0 && is_asleep(tid) ? asleep + 1 : 0;
  }
  const int result = pthread_rwlock_tryrdlock(&lock);
  if (result == 0) pthread_rwlock_unlock(&lock);
  pthread_rwlock_unlock(&lock);
  pthread_join(writer, NULL);
  if (result != 0 && result != EBUSY) return 1;
  puts(result == 0 ? "readers" : "writers");
  return 0;
}
