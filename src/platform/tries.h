// Whether an observer may try to get a lock in the place of a call that waits for it. Where the try
// succeeds or says that something is wrong, the call would have done the same; but not with what
// the call looks at before the lock, and not with robust mutexes: a try that finds one not
// recoverable leaves glibc's word taken.
#pragma once

#include <cstdint>
#include <ctime>
#include <pthread.h>

#include <linux/futex.h>

#include "platform/thread.h"

namespace lockswap {

inline bool is_robust(const pthread_mutex_t* m) noexcept {
  constexpr int kRobust = 16;  // glibc's PTHREAD_MUTEX_ROBUST_NORMAL_NP
  return (m->__data.__kind & kRobust) != 0;
}

// Of a robust mutex, as far as a look at glibc's word can show: a call on it waits.
inline bool is_held_by_another(const pthread_mutex_t* m) noexcept {
  const auto* const word = reinterpret_cast<const std::uint32_t*>(&m->__data.__lock);
  const std::uint32_t owner = __atomic_load_n(word, __ATOMIC_RELAXED) & FUTEX_TID_MASK;  // a guess
  return owner != 0 && owner != thread_id();
}

// A call without a deadline.
inline bool is_valid_deadline() noexcept { return true; }
inline bool is_valid_deadline(const timespec* at) noexcept {
  return at != nullptr && at->tv_nsec >= 0 && at->tv_nsec < 1'000'000'000;
}
inline bool is_valid_deadline(clockid_t clock, const timespec* at) noexcept {
  return (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) && is_valid_deadline(at);
}

// With the arguments of the call.
template <class... Deadline>
bool may_try(const pthread_mutex_t* m, Deadline... deadline) noexcept {
  return is_valid_deadline(deadline...) && !is_robust(m);
}
template <class... Deadline>
bool may_try(const pthread_rwlock_t*, Deadline... deadline) noexcept {
  return is_valid_deadline(deadline...);
}

}  // namespace lockswap
