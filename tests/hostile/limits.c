// Locks where memory is limited.
//
//   limits footprint          prints the kB of address space, and of locked memory if all of it is
//   limits allocates MB       allocates so much and starts eight threads
//   limits starved MS KIND    64 threads take 64 locks each while the system refuses memory, until
//                             none has got a lock for MS milliseconds; then it gives some. KIND:
//                             read, write, mutex
//   limits late               waits with a deadline, while another thread has used up all memory
//   limits waiters N          so many threads wait for a condition, and the system refuses memory
//   limits fifth              a thread reads four locks, and a fifth one twice while a writer waits
//   limits many N             so many locks that are alive at once, each used
#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "common.h"

static long status_kb(const char* name) {
  char line[256];
  long kb = -1;
  FILE* f = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, f) != NULL) {
    if (strncmp(line, name, strlen(name)) == 0) kb = strtol(line + strlen(name), NULL, 10);
  }
  fclose(f);
  return kb;
}

static int footprint(void) {
  static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_rwlock_wrlock(&lock);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  pthread_rwlock_unlock(&lock);
  const long all = status_kb("VmSize:");
  const int error = mlockall(MCL_CURRENT | MCL_FUTURE);
  printf("%ld %ld\n", all, error == 0 ? status_kb("VmLck:") : -1);
  return 0;
}

static void* nothing(void* unused) { return unused; }

static int allocates(long mb) {
  NEED(mb > 0);
  char* p = malloc((size_t)mb << 20);
  NEED(p != NULL);
  memset(p, 1, 1 << 20);
  pthread_t threads[8];
  for (int i = 0; i < 8; ++i)
    NEED(pthread_create(&threads[i], NULL, nothing, NULL) == 0);
  for (int i = 0; i < 8; ++i)
    pthread_join(threads[i], NULL);
  free(p);
  return 0;
}

// --- no memory for a while

static void set_data_limit(rlim_t bytes) {
  struct rlimit limit;
  NEED(getrlimit(RLIMIT_DATA, &limit) == 0);
  limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
  NEED(setrlimit(RLIMIT_DATA, &limit) == 0);
}
static void begin_shortage(void) {
  set_data_limit(1 << 12);
  NEED(mmap(NULL, 1 << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
       MAP_FAILED);
}
static void end_shortage(void) { set_data_limit(RLIM_INFINITY); }

enum { kThreads = 64, kLocks = 64 };
static pthread_rwlock_t rwlocks[kThreads][kLocks];
static pthread_mutex_t mutexes[kThreads][kLocks];
static atomic_int taken, through;
static pthread_barrier_t ready;
static const char* kind;

static void hold(int t, int i) {
  if (strcmp(kind, "mutex") == 0) {
    NEED(pthread_mutex_lock(&mutexes[t][i]) == 0);
  } else if (strcmp(kind, "read") == 0) {
    NEED(pthread_rwlock_rdlock(&rwlocks[t][i]) == 0);
  } else {
    NEED(pthread_rwlock_wrlock(&rwlocks[t][i]) == 0);
  }
}
static void let_go(int t, int i) {
  if (strcmp(kind, "mutex") == 0) {
    NEED(pthread_mutex_unlock(&mutexes[t][i]) == 0);
  } else {
    NEED(pthread_rwlock_unlock(&rwlocks[t][i]) == 0);
  }
}

static void* takes_many(void* which) {
  const int t = (int)(long)which;
  pthread_barrier_wait(&ready);
  for (int i = 0; i < kLocks; ++i) {
    hold(t, i);
    atomic_fetch_add(&taken, 1);
  }
  atomic_fetch_add(&through, 1);
  pthread_barrier_wait(&ready);  // all locks are held at once
  for (int i = 0; i < kLocks; ++i)
    let_go(t, i);
  // Those of another thread, which are free.
  const int other = (t + 1) % kThreads;
  pthread_barrier_wait(&ready);
  for (int i = 0; i < kLocks; ++i) {
    hold(other, i);
    let_go(other, i);
  }
  return NULL;
}

static int starved(long ms) {
  for (int t = 0; t < kThreads; ++t) {
    for (int i = 0; i < kLocks; ++i) {
      pthread_rwlock_init(&rwlocks[t][i], NULL);
      pthread_mutex_init(&mutexes[t][i], NULL);
    }
  }
  NEED(pthread_barrier_init(&ready, NULL, kThreads + 1) == 0);
  pthread_t threads[kThreads];
  for (int t = 0; t < kThreads; ++t)
    threads[t] = start_thread(takes_many, (void*)(long)t);
  begin_shortage();
  pthread_barrier_wait(&ready);
  int before = -1;
  for (long waited = 0; waited < ms && atomic_load(&through) < kThreads; waited += 10) {
    sleep_ms(10);
    const int now = atomic_load(&taken);
    if (now != before) waited = 0;
    before = now;
  }
  const int came = atomic_load(&through);
  end_shortage();
  pthread_barrier_wait(&ready);
  pthread_barrier_wait(&ready);
  for (int t = 0; t < kThreads; ++t)
    pthread_join(threads[t], NULL);
  printf("%d\n", came);
  return 0;
}

// --- a deadline while there is no memory

static pthread_rwlock_t late_lock;
static atomic_int hoarded;

static void* hoards(void* unused) {
  pthread_barrier_wait(&ready);
  kind = "write";
  for (int i = 0; i < kThreads * kLocks; ++i) {
    hold(i / kLocks, i % kLocks);
    atomic_fetch_add(&hoarded, 1);
  }
  for (int i = 0; i < kThreads * kLocks; ++i)
    let_go(i / kLocks, i % kLocks);
  return unused;
}
static void* comes_late(void* unused) {
  pthread_barrier_wait(&ready);
  for (int before = -1; before != atomic_load(&hoarded); sleep_ms(300))
    before = atomic_load(&hoarded);
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  ++at.tv_sec;
  NEED(pthread_rwlock_timedrdlock(&late_lock, &at) == ETIMEDOUT);
  ++at.tv_sec;
  NEED(pthread_rwlock_timedwrlock(&late_lock, &at) == ETIMEDOUT);
  return unused;
}
static int late(void) {
  NEED(pthread_barrier_init(&ready, NULL, 3) == 0);
  pthread_rwlock_init(&late_lock, NULL);
  NEED(pthread_rwlock_wrlock(&late_lock) == 0);
  const pthread_t hoarder = start_thread(hoards, NULL);
  const pthread_t waiter = start_thread(comes_late, NULL);
  begin_shortage();
  pthread_barrier_wait(&ready);
  pthread_join(waiter, NULL);  // a wait that needs memory would last forever
  end_shortage();
  pthread_join(hoarder, NULL);
  NEED(pthread_rwlock_unlock(&late_lock) == 0);
  return 0;
}

// --- conditions while there is no memory

static pthread_mutex_t hall = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t doors = PTHREAD_COND_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static int inside, open_now;

static void* waits_inside(void* in_time) {
  pthread_barrier_wait(&ready);
  NEED(pthread_mutex_lock(&hall) == 0);
  ++inside;
  while (!open_now) {
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec += 3600;
    NEED((in_time != NULL ? pthread_cond_timedwait(&doors, &hall, &at)
                          : pthread_cond_wait(&doors, &hall)) == 0);
  }
  --inside;
  NEED(pthread_mutex_unlock(&hall) == 0);
  return NULL;
}
static void leave_hall(void* unused) {
  (void)unused;
  pthread_mutex_unlock(&hall);
}
static void* is_cancelled_inside(void* unused) {
  pthread_barrier_wait(&ready);
  NEED(pthread_mutex_lock(&hall) == 0);
  pthread_cleanup_push(leave_hall, NULL);
  for (;;)
    NEED(pthread_cond_wait(&never, &hall) == 0);
  pthread_cleanup_pop(0);
  return unused;
}
static void* pauses(void* unused) {
  sleep_ms(600000);
  return unused;
}
static void cancel(pthread_t thread) {
  void* result;
  NEED(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
  NEED(result == PTHREAD_CANCELED);
}
static int waiters(long n) {
  cancel(start_thread(pauses, NULL));  // glibc loads a library for the first one
  pthread_t* threads = calloc((size_t)n, sizeof *threads);
  NEED(threads != NULL && pthread_barrier_init(&ready, NULL, (unsigned)n + 2) == 0);
  for (long t = 0; t < n; ++t)
    threads[t] = start_thread(waits_inside, (void*)(t % 2));
  const pthread_t cancelled = start_thread(is_cancelled_inside, NULL);
  begin_shortage();
  pthread_barrier_wait(&ready);
  for (int all = 0; !all; sleep_ms(10)) {
    NEED(pthread_mutex_lock(&hall) == 0);
    all = inside == n;
    NEED(pthread_mutex_unlock(&hall) == 0);
  }
  // A deadline passes, and a thread is cancelled, where no waiter can be added.
  struct timespec at = {0, 0};
  NEED(pthread_mutex_lock(&hall) == 0);
  NEED(pthread_cond_timedwait(&never, &hall, &at) == ETIMEDOUT);
  NEED(pthread_mutex_unlock(&hall) == 0);
  cancel(cancelled);
  NEED(pthread_mutex_lock(&hall) == 0);
  open_now = 1;
  NEED(pthread_cond_broadcast(&doors) == 0);
  NEED(pthread_mutex_unlock(&hall) == 0);
  for (long t = 0; t < n; ++t)
    pthread_join(threads[t], NULL);
  NEED(inside == 0);
  NEED(pthread_cond_destroy(&doors) == 0 && pthread_cond_destroy(&never) == 0);
  NEED(pthread_mutex_destroy(&hall) == 0);
  free(threads);
  return 0;
}

// --- a hold that cannot be recorded

static pthread_rwlock_t four[4], fifth_lock;
static atomic_int written;

static void* writes(void* unused) {
  NEED(pthread_rwlock_wrlock(&fifth_lock) == 0);
  atomic_store(&written, 1);
  NEED(pthread_rwlock_unlock(&fifth_lock) == 0);
  return unused;
}
static int fifth(void) {
  for (int i = 0; i < 4; ++i) {
    pthread_rwlock_init(&four[i], NULL);
    NEED(pthread_rwlock_rdlock(&four[i]) == 0);
  }
  pthread_rwlock_init(&fifth_lock, NULL);
  pthread_attr_t unused;
  pthread_attr_init(&unused);
  begin_shortage();
  NEED(pthread_rwlock_rdlock(&fifth_lock) == 0);
  end_shortage();
  const pthread_t writer = start_thread(writes, NULL);
  sleep_ms(50);
  NEED(atomic_load(&written) == 0);
  NEED(pthread_rwlock_rdlock(&fifth_lock) == 0);
  NEED(pthread_rwlock_unlock(&fifth_lock) == 0);
  sleep_ms(20);
  NEED(atomic_load(&written) == 0);
  NEED(pthread_rwlock_unlock(&fifth_lock) == 0);
  pthread_join(writer, NULL);
  for (int i = 0; i < 4; ++i)
    NEED(pthread_rwlock_unlock(&four[i]) == 0);
  NEED(pthread_rwlock_trywrlock(&fifth_lock) == 0);
  NEED(pthread_rwlock_unlock(&fifth_lock) == 0);
  return 0;
}

static int many(long n) {
  NEED(n > 0);
  pthread_rwlock_t* locks = calloc((size_t)n, sizeof(pthread_rwlock_t));
  pthread_mutex_t* more = calloc((size_t)n, sizeof(pthread_mutex_t));
  NEED(locks != NULL && more != NULL);
  for (int round = 0; round < 2; ++round) {
    for (long i = 0; i < n; ++i) {
      NEED(pthread_rwlock_wrlock(&locks[i]) == 0 && pthread_rwlock_unlock(&locks[i]) == 0);
      NEED(pthread_mutex_lock(&more[i]) == 0 && pthread_mutex_unlock(&more[i]) == 0);
    }
  }
  free(locks);
  free(more);
  return 0;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const long n = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
  kind = argc > 3 ? argv[3] : "";
  if (strcmp(what, "footprint") == 0) return footprint();
  if (strcmp(what, "allocates") == 0) return allocates(n);
  if (strcmp(what, "starved") == 0) return starved(n);
  if (strcmp(what, "late") == 0) return late();
  if (strcmp(what, "waiters") == 0) return waiters(n);
  if (strcmp(what, "fifth") == 0) return fifth();
  if (strcmp(what, "many") == 0) return many(n);
  return 2;
}
