// A table of the system's own reader-writer lock functions (glibc's, the next ones in symbol
// order), which interpose fills in before the first lock is taken.
#pragma once

#include <cstddef>
#include <cstring>
#include <ctime>
#include <pthread.h>

#include "platform/functions.h"

namespace lockswap {

#define LOCKSWAP_RWLOCK_FUNCTIONS(X)                                                \
  X(init, init, plain, pthread_rwlock_t*, const pthread_rwlockattr_t*)              \
  X(destroy, destroy, plain, pthread_rwlock_t*)                                     \
  X(rdlock, lock_shared, plain, pthread_rwlock_t*)                                  \
  X(tryrdlock, lock_shared, attempt, pthread_rwlock_t*)                             \
  X(timedrdlock, lock_shared, timed, pthread_rwlock_t*, const timespec*)            \
  X(clockrdlock, lock_shared, clock, pthread_rwlock_t*, clockid_t, const timespec*) \
  X(wrlock, lock, plain, pthread_rwlock_t*)                                         \
  X(trywrlock, lock, attempt, pthread_rwlock_t*)                                    \
  X(timedwrlock, lock, timed, pthread_rwlock_t*, const timespec*)                   \
  X(clockwrlock, lock, clock, pthread_rwlock_t*, clockid_t, const timespec*)        \
  X(unlock, unlock, plain, pthread_rwlock_t*)
struct RwOps {
  LOCKSWAP_TABLE(RwOps, LOCKSWAP_RWLOCK_FUNCTIONS)
};

inline constinit RwOps system_rwlock{};

// glibc's fields for what the attributes asked for, at init or later.
inline unsigned kind_of(const pthread_rwlock_t* l) noexcept {
  return __atomic_load_n(&l->__data.__flags, __ATOMIC_RELAXED);  // relaxed: all set the same value
}
inline void set_kind(pthread_rwlock_t* l, unsigned kind) noexcept {
  __atomic_store_n(&l->__data.__flags, kind, __ATOMIC_RELAXED);  // as above
}
inline bool is_process_shared(const pthread_rwlock_t* l) noexcept {
  return l->__data.__shared != 0;
}

// Returns whether glibc's own fields are as an initialiser leaves them. False while somebody holds
// the lock, and also for most free locks that were used.
inline bool looks_fresh(const pthread_rwlock_t* l) noexcept {
  const auto& d = l->__data;
  // relaxed: a racy snapshot of what other threads may be changing
  return (__atomic_load_n(&d.__readers, __ATOMIC_RELAXED) |
          __atomic_load_n(&d.__writers, __ATOMIC_RELAXED) |
          __atomic_load_n(&d.__wrphase_futex, __ATOMIC_RELAXED) |
          __atomic_load_n(&d.__writers_futex, __ATOMIC_RELAXED) |
          static_cast<unsigned>(__atomic_load_n(&d.__cur_writer, __ATOMIC_RELAXED))) == 0;
}

// Returns whether a thread reads, or waits to, from glibc's own field, which counts in steps of 8.
inline bool is_read(const pthread_rwlock_t* l) noexcept {
  return __atomic_load_n(&l->__data.__readers, __ATOMIC_RELAXED) >= 8;  // relaxed: a hint
}
// Returns whether a thread holds the lock for writing, from glibc's own field.
inline bool is_written(const pthread_rwlock_t* l) noexcept { return l->__data.__cur_writer != 0; }
// Reinitialises glibc's part of a lock that is held for writing, in a process that has no other
// threads. Afterwards nobody waits, and the writer's hold remains (`written`) or has ended.
inline void renew(pthread_rwlock_t* l, bool written) noexcept {
  constexpr std::size_t kState = offsetof(pthread_rwlock_t, __data.__cur_writer);
  pthread_rwlock_t other{};
  other.__data.__flags = l->__data.__flags;
  if (written) system_rwlock.wrlock(&other);
  std::memcpy(l, &other, kState);  // none of it depends on the address
  // Done last: until then it says that the repair is unfinished, if the process forks again.
  if (!written) __atomic_store_n(&l->__data.__cur_writer, 0, __ATOMIC_RELEASE);
}

}  // namespace lockswap
