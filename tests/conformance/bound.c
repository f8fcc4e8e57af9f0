// A program that takes every rwlock function at the version its macro says: built once bound to the
// newest versions (what a fresh build gets) and once, with BOUND_TO_OLD, to the oldest and to the
// `__` twins (what node and old libraries ask for). symbols.py runs both under LD_DEBUG=bindings.
//
//   bound_new                            uses everything once; status 0 if every value was right
//   bound_new NAME VERSION [...]         prints the file that dlvsym finds each of them in
//   bound_new cross VERSION VERSION      takes a lock by the first version, tries it by the second
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

#define TWIN(name)                           \
  extern int name##_twin(pthread_rwlock_t*); \
  __asm__(".symver " #name "_twin,__" #name "@" OLDEST);
TWIN(pthread_rwlock_destroy)
TWIN(pthread_rwlock_rdlock)
TWIN(pthread_rwlock_wrlock)
TWIN(pthread_rwlock_tryrdlock)
TWIN(pthread_rwlock_trywrlock)
TWIN(pthread_rwlock_unlock)
extern int pthread_rwlock_init_twin(pthread_rwlock_t*, const pthread_rwlockattr_t*);
__asm__(".symver pthread_rwlock_init_twin,__pthread_rwlock_init@" OLDEST);
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
  EXPECT(0, pthread_rwlock_init_twin(&l, NULL));
  EXPECT(0, pthread_rwlock_rdlock_twin(&l));
  EXPECT(0, pthread_rwlock_tryrdlock_twin(&l));
  EXPECT(EBUSY, pthread_rwlock_trywrlock(&l));  // twin and function mean the same lock
  EXPECT(EBUSY, pthread_rwlock_trywrlock_twin(&l));
  EXPECT(0, pthread_rwlock_unlock_twin(&l));
  EXPECT(0, pthread_rwlock_unlock(&l));
  EXPECT(0, pthread_rwlock_wrlock_twin(&l));
  EXPECT(EBUSY, pthread_rwlock_tryrdlock(&l));
  EXPECT(0, pthread_rwlock_unlock(&l));
  EXPECT(0, pthread_rwlock_destroy_twin(&l));
#endif
}

typedef int (*Call)(pthread_rwlock_t*);

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
    return wrong;
  }
  if (argc == 4 && strcmp(argv[1], "cross") == 0) return cross(argv[2], argv[3]);
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
