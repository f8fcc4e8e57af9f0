// What the cases of mutexes share.
#pragma once

#include <string>

#include "support.h"

namespace conformance {

struct MutexKind {
  const char* name;
  int type;
  // What the calls of a thread give that holds the mutex already, and of one that does not hold it.
  int lock_again;  // -1: it waits for itself
  int try_again;
  int timed_again;
  int unlock_anothers;
  int unlock_free;
};
inline constexpr MutexKind kMutexKinds[] = {
    {"default", PTHREAD_MUTEX_DEFAULT, -1, EBUSY, ETIMEDOUT, 0, 0},
    {"normal", PTHREAD_MUTEX_NORMAL, -1, EBUSY, ETIMEDOUT, 0, 0},
    {"recursive", PTHREAD_MUTEX_RECURSIVE, 0, 0, 0, EPERM, EPERM},
    {"errorcheck", PTHREAD_MUTEX_ERRORCHECK, EDEADLK, EBUSY, EDEADLK, EPERM, EPERM},
    {"adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, -1, EBUSY, ETIMEDOUT, 0, 0},
};

// A mutex of a kind, initialised by the attributes.
class Mutex {
 public:
  explicit Mutex(int type = PTHREAD_MUTEX_DEFAULT) { init(type); }
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  pthread_mutex_t* get() { return &m_; }
  operator pthread_mutex_t*() { return &m_; }  // NOLINT(google-explicit-constructor): for the calls

 private:
  void init(int type) {
    pthread_mutexattr_t a;
    ASSERT_RC(0, pthread_mutexattr_init(&a));
    ASSERT_RC(0, pthread_mutexattr_settype(&a, type));
    ASSERT_RC(0, pthread_mutex_init(&m_, &a));
    ASSERT_RC(0, pthread_mutexattr_destroy(&a));
  }
  pthread_mutex_t m_;
};

// Nobody holds it: another thread gets it at once, and it excludes.
inline void expect_mutex_free(pthread_mutex_t* m) {
  Actor other;
  other.run([&] { EXPECT_RC(0, pthread_mutex_trylock(m)); });
  EXPECT_RC(EBUSY, pthread_mutex_trylock(m));
  other.run([&] { EXPECT_RC(0, pthread_mutex_unlock(m)); });
}

}  // namespace conformance
