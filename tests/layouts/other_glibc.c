// A C library whose objects are laid out otherwise: to be preloaded behind the library under test,
// which takes these functions for glibc's, by the name of the file. They call glibc's and move what
// that wrote.
//
// OTHER_GLIBC names the difference; without it there is none. See layouts.py for the list.
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#define COND_VERSION "GLIBC_2.3.2"
#else
#define COND_VERSION "GLIBC_2.17"
#endif

static int is(const char* difference) {
  const char* chosen = getenv("OTHER_GLIBC");
  return chosen != NULL && strcmp(chosen, difference) == 0;
}

// The function of this name behind this library.
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define REAL_COND(name) ((__typeof__(&name))dlvsym(RTLD_NEXT, #name, COND_VERSION))

static unsigned take(void* object, size_t from) {
  unsigned word;
  memcpy(&word, (char*)object + from, sizeof word);
  memset((char*)object + from, 0, sizeof word);
  return word;
}
static void put(void* object, size_t to, unsigned word) {
  memcpy((char*)object + to, &word, sizeof word);
}
static void move(void* object, size_t from, size_t to) { put(object, to, take(object, from)); }
static void set_bit(void* object, size_t byte) { ((unsigned char*)object)[byte] |= 0x10; }

// Where the real glibc has the flags of condition variables.
static size_t real_flags(void) {
  pthread_condattr_t attributes;
  pthread_cond_t c;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  REAL_COND(pthread_cond_init)(&c, &attributes);
  for (size_t at = 0; at < sizeof c; at += 4) {
    if (take(&c, at) != 0) return at;
  }
  abort();
}

int pthread_cond_init(pthread_cond_t* c, const pthread_condattr_t* a) {
  const int error = REAL_COND(pthread_cond_init)(c, a);
  const size_t flags = real_flags();
  if (is("cond-other-known")) move(c, flags, flags == 36 ? 28 : 36);
  if (is("cond-unknown")) move(c, flags, 44);
  if (is("cond-writes")) set_bit(c, 5);
  if (is("cond-third-flag")) ((unsigned char*)c)[flags] |= 4;
  return error;
}
int pthread_cond_timedwait(pthread_cond_t* c, pthread_mutex_t* m, const struct timespec* at) {
  if (is("cond-unknown")) move(c, 44, real_flags());
  const int error = REAL_COND(pthread_cond_timedwait)(c, m, at);
  if (is("cond-unknown")) move(c, real_flags(), 44);
  if (is("cond-wait")) ((unsigned char*)c)[real_flags()] ^= 1;
  return error;
}

int pthread_mutex_init(pthread_mutex_t* m, const pthread_mutexattr_t* a) {
  const int error = REAL(pthread_mutex_init)(m, a);
  if (is("mutex-kind")) move(m, 16, 20);
  if (is("mutex-flags")) put(m, 16, take(m, 16) & 0xf);
  if (is("mutex-writes-before")) set_bit(m, 13);
  if (is("mutex-writes-behind")) set_bit(m, 30);
  return error;
}
// Where the type is, or the owner or the count of users while somebody has the mutex: in its place
// for glibc, elsewhere for everybody else.
static void show(pthread_mutex_t* m, int in_place) {
  const size_t field = is("mutex-owner") ? 8 : is("mutex-users") ? 12 : is("mutex-kind") ? 16 : 0;
  const unsigned char* bytes = (unsigned char*)m;
  const int is_typed = ((bytes[16] | bytes[20]) & 3) != 0;  // the program shares none of these
  if (field == 0 || !is_typed) return;
  if (in_place) {
    move(m, 20, field);
  } else {
    move(m, field, 20);
  }
}
int pthread_mutex_lock(pthread_mutex_t* m) {
  show(m, 1);
  const int error = REAL(pthread_mutex_lock)(m);
  show(m, 0);
  if (is("mutex-lock-writes")) set_bit(m, 37);
  return error;
}
int pthread_mutex_clocklock(pthread_mutex_t* m, clockid_t clock, const struct timespec* at) {
  show(m, 1);
  const int error = REAL(pthread_mutex_clocklock)(m, clock, at);
  show(m, 0);
  return error;
}
int pthread_mutex_unlock(pthread_mutex_t* m) {
  show(m, 1);
  const int error = REAL(pthread_mutex_unlock)(m);
  show(m, 0);
  return error;
}

int pthread_rwlock_init(pthread_rwlock_t* l, const pthread_rwlockattr_t* a) {
  const int error = REAL(pthread_rwlock_init)(l, a);
  if (is("rwlock-kind")) move(l, 48, 52);
  if (is("rwlock-shared")) move(l, 28, 52);
  if (is("rwlock-writes")) set_bit(l, 34);
  return error;
}
int pthread_rwlock_rdlock(pthread_rwlock_t* l) {
  const int error = REAL(pthread_rwlock_rdlock)(l);
  if (is("rwlock-read-writes")) ((unsigned char*)l)[40] ^= 0xff;
  return error;
}
int pthread_rwlock_wrlock(pthread_rwlock_t* l) {
  const int error = REAL(pthread_rwlock_wrlock)(l);
  if (is("rwlock-writer")) move(l, 24, 52);
  return error;
}
int pthread_rwlock_unlock(pthread_rwlock_t* l) {
  unsigned writer;
  memcpy(&writer, (char*)l + 52, sizeof writer);
  if (is("rwlock-writer") && writer != 0) move(l, 52, 24);
  return REAL(pthread_rwlock_unlock)(l);
}

const char* gnu_get_libc_version(void) {
  if (is("version-2.2")) return "2.2";
  if (is("version-9.99")) return "9.99";
  return REAL(gnu_get_libc_version)();
}
