// A program that binds every function to the version that its macro says. It is built twice: bound
// to the newest versions, as a fresh build is, and with BOUND_TO_OLD to the oldest and to the names
// with `__`, as node and old libraries are. symbols.py runs both under LD_DEBUG=bindings.
//
//   bound_new                            uses everything once; status 0 if every value was right
//   bound_new NAME VERSION [...]         prints the file that dlvsym finds each of them in
//   bound_new cross VERSION VERSION      takes a lock by the first version, tries it by the second
//   bound_new cross-mutex VERSION        the same of a mutex, whose lock has one version
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#ifdef BOUND_TO_OLD
#if defined(__x86_64__)
#define OLDEST "GLIBC_2.2.5"
#else
#define OLDEST "GLIBC_2.17"
#endif
#define BIND(name, version) __asm__(".symver " #name "," #name "@" version);
BIND(pthread_rwlock_init, OLDEST)
BIND(pthread_rwlock_destroy, OLDEST)
BIND(pthread_rwlock_rdlock, OLDEST)
BIND(pthread_rwlock_tryrdlock, OLDEST)
BIND(pthread_rwlock_timedrdlock, OLDEST)
BIND(pthread_rwlock_wrlock, OLDEST)
BIND(pthread_rwlock_trywrlock, OLDEST)
BIND(pthread_rwlock_timedwrlock, OLDEST)
BIND(pthread_rwlock_unlock, OLDEST)
BIND(pthread_rwlock_clockrdlock, "GLIBC_2.30")
BIND(pthread_rwlock_clockwrlock, "GLIBC_2.30")

#define UNDERSCORED(name)                           \
  extern int name##_underscored(pthread_rwlock_t*); \
  __asm__(".symver " #name "_underscored,__" #name "@" OLDEST);
UNDERSCORED(pthread_rwlock_destroy)
UNDERSCORED(pthread_rwlock_rdlock)
UNDERSCORED(pthread_rwlock_wrlock)
UNDERSCORED(pthread_rwlock_tryrdlock)
UNDERSCORED(pthread_rwlock_trywrlock)
UNDERSCORED(pthread_rwlock_unlock)
extern int pthread_rwlock_init_underscored(pthread_rwlock_t*, const pthread_rwlockattr_t*);
__asm__(".symver pthread_rwlock_init_underscored,__pthread_rwlock_init@" OLDEST);

BIND(pthread_mutex_trylock, OLDEST)
BIND(pthread_mutex_timedlock, OLDEST)
BIND(pthread_mutex_clocklock, "GLIBC_2.30")
BIND(pthread_cond_init, OLDEST)
BIND(pthread_cond_destroy, OLDEST)
BIND(pthread_cond_timedwait, OLDEST)
BIND(pthread_cond_wait, OLDEST)
BIND(pthread_cond_signal, OLDEST)
BIND(pthread_cond_broadcast, OLDEST)
BIND(pthread_cond_clockwait, "GLIBC_2.30")
#define MUTEX_UNDERSCORED(name)                    \
  extern int name##_underscored(pthread_mutex_t*); \
  __asm__(".symver " #name "_underscored,__" #name "@" OLDEST);
MUTEX_UNDERSCORED(pthread_mutex_destroy)
MUTEX_UNDERSCORED(pthread_mutex_lock)
MUTEX_UNDERSCORED(pthread_mutex_trylock)
MUTEX_UNDERSCORED(pthread_mutex_unlock)
extern int pthread_mutex_init_underscored(pthread_mutex_t*, const pthread_mutexattr_t*);
__asm__(".symver pthread_mutex_init_underscored,__pthread_mutex_init@" OLDEST);
#endif

static int wrong;
static void expect(int value, int got, const char* what) {
  if (value == got) return;
  fprintf(stderr, "%s returned %d, expected %d\n", what, got, value);
  wrong = 1;
}
#define EXPECT(value, call) expect(value, call, #call)

static void use_everything(void) {
  pthread_rwlock_t l;
  struct timespec real, mono;
  clock_gettime(CLOCK_REALTIME, &real);
  clock_gettime(CLOCK_MONOTONIC, &mono);
  EXPECT(0, pthread_rwlock_init(&l, NULL));
  EXPECT(0, pthread_rwlock_rdlock(&l));
  EXPECT(0, pthread_rwlock_tryrdlock(&l));
  EXPECT(0, pthread_rwlock_timedrdlock(&l, &real));
  EXPECT(0, pthread_rwlock_clockrdlock(&l, CLOCK_MONOTONIC, &mono));
  EXPECT(EBUSY, pthread_rwlock_trywrlock(&l));
  EXPECT(ETIMEDOUT, pthread_rwlock_timedwrlock(&l, &real));
  EXPECT(ETIMEDOUT, pthread_rwlock_clockwrlock(&l, CLOCK_MONOTONIC, &mono));
  for (int i = 0; i < 4; ++i)
    EXPECT(0, pthread_rwlock_unlock(&l));
  EXPECT(0, pthread_rwlock_wrlock(&l));
  EXPECT(EDEADLK, pthread_rwlock_wrlock(&l));
  EXPECT(0, pthread_rwlock_unlock(&l));
  EXPECT(0, pthread_rwlock_destroy(&l));
#ifdef BOUND_TO_OLD
  EXPECT(0, pthread_rwlock_init_underscored(&l, NULL));
  EXPECT(0, pthread_rwlock_rdlock_underscored(&l));
  EXPECT(0, pthread_rwlock_tryrdlock_underscored(&l));
  EXPECT(EBUSY, pthread_rwlock_trywrlock(&l));  // both names mean the same lock
  EXPECT(EBUSY, pthread_rwlock_trywrlock_underscored(&l));
  EXPECT(0, pthread_rwlock_unlock_underscored(&l));
  EXPECT(0, pthread_rwlock_unlock(&l));
  EXPECT(0, pthread_rwlock_wrlock_underscored(&l));
  EXPECT(EBUSY, pthread_rwlock_tryrdlock(&l));
  EXPECT(0, pthread_rwlock_unlock(&l));
  EXPECT(0, pthread_rwlock_destroy_underscored(&l));
#endif
}

static pthread_cond_t turned;
static pthread_mutex_t held;
static int turn;

static void* other_thread(void* unused) {
  EXPECT(0, pthread_mutex_lock(&held));
  while (turn == 0)
    EXPECT(0, pthread_cond_wait(&turned, &held));
  turn = 2;
  EXPECT(0, pthread_cond_broadcast(&turned));
  EXPECT(0, pthread_mutex_unlock(&held));
  return unused;
}

static void use_mutexes(void) {
  pthread_mutex_t m;
  struct timespec real, mono;
  clock_gettime(CLOCK_REALTIME, &real);
  clock_gettime(CLOCK_MONOTONIC, &mono);
  EXPECT(0, pthread_mutex_init(&m, NULL));
  EXPECT(0, pthread_mutex_lock(&m));
  EXPECT(EBUSY, pthread_mutex_trylock(&m));
  EXPECT(ETIMEDOUT, pthread_mutex_timedlock(&m, &real));
  EXPECT(ETIMEDOUT, pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &mono));
  EXPECT(0, pthread_mutex_unlock(&m));
  EXPECT(0, pthread_mutex_destroy(&m));
#ifdef BOUND_TO_OLD
  EXPECT(0, pthread_mutex_init_underscored(&m, NULL));
  EXPECT(0, pthread_mutex_lock_underscored(&m));
  EXPECT(EBUSY, pthread_mutex_trylock(&m));  // both names mean the same mutex
  EXPECT(EBUSY, pthread_mutex_trylock_underscored(&m));
  EXPECT(0, pthread_mutex_unlock_underscored(&m));
  EXPECT(0, pthread_mutex_destroy_underscored(&m));
#endif

  // An object of the version's own layout, and one for the function that has only the newer one.
  pthread_cond_t newer = PTHREAD_COND_INITIALIZER;
  EXPECT(0, pthread_mutex_init(&held, NULL));
  EXPECT(0, pthread_cond_init(&turned, NULL));
  pthread_t thread;
  EXPECT(0, pthread_create(&thread, NULL, other_thread, NULL));
  EXPECT(0, pthread_mutex_lock(&held));
  EXPECT(ETIMEDOUT, pthread_cond_timedwait(&turned, &held, &real));
  EXPECT(ETIMEDOUT, pthread_cond_clockwait(&newer, &held, CLOCK_MONOTONIC, &mono));
  turn = 1;
  EXPECT(0, pthread_cond_signal(&turned));
  while (turn != 2)
    EXPECT(0, pthread_cond_wait(&turned, &held));
  EXPECT(0, pthread_mutex_unlock(&held));
  EXPECT(0, pthread_join(thread, NULL));
  EXPECT(0, pthread_cond_destroy(&turned));
  EXPECT(0, pthread_mutex_destroy(&held));
}

typedef int (*Call)(pthread_rwlock_t*);

typedef int (*MutexCall)(pthread_mutex_t*);

// lock and unlock have one version, trylock two.
static int cross_mutex(const char* second) {
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  MutexCall try = (MutexCall)dlvsym(RTLD_DEFAULT, "pthread_mutex_trylock", second);
  if (!try) {
    fprintf(stderr, "dlvsym: %s\n", dlerror());
    return 1;
  }
  EXPECT(0, pthread_mutex_lock(&m));
  EXPECT(EBUSY, try(&m));
  EXPECT(0, pthread_mutex_unlock(&m));
  EXPECT(0, try(&m));
  EXPECT(0, pthread_mutex_unlock(&m));
  return wrong;
}

static int cross(const char* first, const char* second) {
  pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
  Call wrlock = (Call)dlvsym(RTLD_DEFAULT, "pthread_rwlock_wrlock", first);
  Call try_read = (Call)dlvsym(RTLD_DEFAULT, "pthread_rwlock_tryrdlock", second);
  Call try_write = (Call)dlvsym(RTLD_DEFAULT, "pthread_rwlock_trywrlock", second);
  Call unlock = (Call)dlvsym(RTLD_DEFAULT, "pthread_rwlock_unlock", second);
  if (!wrlock || !try_read || !try_write || !unlock) {
    fprintf(stderr, "dlvsym: %s\n", dlerror());
    return 1;
  }
  expect(0, wrlock(&l), "wrlock");
  expect(EBUSY, try_read(&l), "tryrdlock");
  expect(EBUSY, try_write(&l), "trywrlock");
  expect(0, unlock(&l), "unlock");
  expect(0, try_write(&l), "trywrlock");
  expect(0, unlock(&l), "unlock");
  return wrong;
}

int main(int argc, char** argv) {
  if (argc == 1) {
    use_everything();
    use_mutexes();
    return wrong;
  }
  if (argc == 4 && strcmp(argv[1], "cross") == 0) return cross(argv[2], argv[3]);
  if (argc == 3 && strcmp(argv[1], "cross-mutex") == 0) return cross_mutex(argv[2]);
  for (int i = 1; i + 1 < argc; i += 2) {
    Dl_info info;
    void* symbol = dlvsym(RTLD_DEFAULT, argv[i], argv[i + 1]);
    if (symbol == NULL || !dladdr(symbol, &info))
      puts("-");
    else
      puts(info.dli_fname);
  }
  return 0;
}
