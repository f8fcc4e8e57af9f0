// Range locks where memory is limited, and in a sandbox.
//
//   ranges IMPLEMENTATION starved    acquisitions while the system refuses memory say so or succeed
//   ranges IMPLEMENTATION strict     uncontended ones under SECCOMP_MODE_STRICT
//   ranges IMPLEMENTATION clock      the same without the processor's clock (PR_SET_TSC)
#include <errno.h>
#include <lockswap/range_lock.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "common.h"

static lockswap_range_lock lock;
enum { kThreads = 8, kRanges = 400 };
static lockswap_range ranges[kThreads][kRanges];
static pthread_barrier_t ready;
static atomic_int refused;

static void set_data_limit(rlim_t bytes) {
  struct rlimit limit;
  NEED(getrlimit(RLIMIT_DATA, &limit) == 0);
  limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
  NEED(setrlimit(RLIMIT_DATA, &limit) == 0);
}

// Ranges far from each other; of locks that know segments only, those of one thread may meet.
static void take_many(int t, int may_be_refused) {
  int error[kRanges];
  for (int i = 0; i < kRanges; ++i) {
    const uint64_t start = ((uint64_t)t * kRanges + (uint64_t)i) << 20;
    error[i] = lockswap_range_try_acquire(&lock, &ranges[t][i], start, start + 1,
                                          LOCKSWAP_RANGE_EXCLUSIVE);
    NEED(error[i] == 0 || error[i] == EBUSY || (may_be_refused && error[i] == ENOMEM));
    if (error[i] == ENOMEM) atomic_fetch_add(&refused, 1);
  }
  for (int i = 0; i < kRanges; ++i) {
    if (error[i] == 0) NEED(lockswap_range_release(&ranges[t][i]) == 0);
  }
}
static void* takes_many(void* which) {
  const int t = (int)(long)which;
  pthread_barrier_wait(&ready);
  take_many(t, 1);
  pthread_barrier_wait(&ready);
  pthread_barrier_wait(&ready);
  take_many(t, 0);
  return NULL;
}
static int starved(void) {
  NEED(pthread_barrier_init(&ready, NULL, kThreads + 1) == 0);
  pthread_t threads[kThreads];
  for (int t = 0; t < kThreads; ++t)
    threads[t] = start_thread(takes_many, (void*)(long)t);
  set_data_limit(1 << 12);
  pthread_barrier_wait(&ready);
  pthread_barrier_wait(&ready);
  set_data_limit(RLIM_INFINITY);
  pthread_barrier_wait(&ready);
  for (int t = 0; t < kThreads; ++t)
    pthread_join(threads[t], NULL);
  lockswap_range whole;
  NEED(lockswap_range_acquire_full(&lock, &whole, LOCKSWAP_RANGE_EXCLUSIVE) == 0);
  NEED(lockswap_range_release(&whole) == 0);
  NEED(lockswap_range_lock_destroy(&lock) == 0);
  printf("%d\n", atomic_load(&refused));
  return 0;
}

static void use(int rounds) {
  lockswap_range a, b;
  for (int i = 0; i < rounds; ++i) {
    NEED(lockswap_range_acquire(&lock, &a, 10, 20, LOCKSWAP_RANGE_EXCLUSIVE) == 0);
    NEED(lockswap_range_release(&a) == 0);
    NEED(lockswap_range_acquire(&lock, &b, 10, 20, LOCKSWAP_RANGE_SHARED) == 0);
    NEED(lockswap_range_release(&b) == 0);
    NEED(lockswap_range_acquire_full(&lock, &a, LOCKSWAP_RANGE_EXCLUSIVE) == 0);
    NEED(lockswap_range_release(&a) == 0);
  }
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  lockswap_range_lock_attr attributes;
  NEED(lockswap_range_lock_attr_init(&attributes) == 0);
  NEED(lockswap_range_lock_attr_set_implementation(&attributes, argv[1]) == 0);
  NEED(lockswap_range_lock_init(&lock, &attributes) == 0);
  if (strcmp(argv[2], "starved") == 0) return starved();
  use(100);
  if (strcmp(argv[2], "strict") == 0) {
    NEED(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
    use(1000);
    syscall(SYS_exit, 0);
  }
  NEED(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0);
  use(1000);
  return 0;
}
