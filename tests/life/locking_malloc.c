// A malloc for LD_PRELOAD whose every call takes an rwlock and a mutex, which is worse than what
// jemalloc and tcmalloc do. A lock call that allocates comes back here, and then this one says so
// and aborts.
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// glibc's own, under the names that it exports for this.
extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
extern void __libc_free(void*);

#define EXPORT __attribute__((visibility("default")))

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static __thread int inside __attribute__((tls_model("initial-exec")));

static void fail(const char* text) {
  if (write(STDERR_FILENO, text, strlen(text)) < 0) _exit(3);
  abort();
}

static void enter(void) {
  if (inside != 0) fail("locking_malloc: a lock call allocates\n");
  inside = 1;
  if (pthread_rwlock_rdlock(&lock) != 0 || pthread_rwlock_unlock(&lock) != 0 ||
      pthread_rwlock_wrlock(&lock) != 0 || pthread_mutex_lock(&mutex) != 0)
    fail("locking_malloc: a lock call failed\n");
}
static void leave(void) {
  if (pthread_mutex_unlock(&mutex) != 0 || pthread_rwlock_unlock(&lock) != 0)
    fail("locking_malloc: unlock failed\n");
  inside = 0;
}

#define LOCKED(type, call) \
  enter();                 \
  type result = call;      \
  leave();                 \
  return result

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): stdlib.h's are reserved
EXPORT void* malloc(size_t n) { LOCKED(void*, __libc_malloc(n)); }
EXPORT void* calloc(size_t n, size_t size) { LOCKED(void*, __libc_calloc(n, size)); }
EXPORT void* realloc(void* p, size_t n) { LOCKED(void*, __libc_realloc(p, n)); }
EXPORT void* memalign(size_t align, size_t n) { LOCKED(void*, __libc_memalign(align, n)); }
EXPORT void* aligned_alloc(size_t align, size_t n) { LOCKED(void*, __libc_memalign(align, n)); }
EXPORT int posix_memalign(void** p, size_t align, size_t n) {
  *p = memalign(align, n);
  return *p == NULL ? 12 : 0;  // ENOMEM
}
EXPORT void free(void* p) {
  if (p == NULL) return;
  enter();
  __libc_free(p);
  leave();
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
