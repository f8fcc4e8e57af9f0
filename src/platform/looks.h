// Whether a call on a lock has to wait, as far as a look at the lock can say.
//
// For observers, which then make the program's own call. A try in its place would be another call:
// it returns something else for robust mutexes and invalid deadlines, and libraries behind the
// observer, such as a sanitizer, see a try.
// A look is a racy snapshot, so it may be old at once. It reads glibc's words as the experiments of
// prepare() found them, and of our own locks the owner's or the writer's id, which lies where glibc
// has it, and the contract word.
#pragma once

#include <cstdint>
#include <ctime>
#include <pthread.h>

#include <linux/futex.h>

#include "platform/process.h"
#include "platform/thread.h"

namespace lockswap {

enum class Look : std::uint8_t {
  open,    // the call returns at once
  taken,   // it has to wait
  unknown  // the lock's words don't say it
};

class Looks {
 public:
  // In our contract word: a writer waits for readers. registry/lock_checks.cpp compares it with
  // posix/rw_word.h, which this layer may not include.
  static constexpr std::uint32_t kDraining = 8;

  // Must be called at start-up, when libc_functions is filled in. Unless the experiments agree with
  // what is known of glibc's objects, each look is `unknown` from then on, as before.
  static void prepare() noexcept;
  static bool are_known() noexcept { return are_known_; }

  static Look at(const pthread_mutex_t* m) noexcept {
    return are_known_ ? at_known(m) : Look::unknown;
  }
  template <bool kReads>
  static Look at(const pthread_rwlock_t* l) noexcept {
    return are_known_ ? at_known<kReads>(l) : Look::unknown;
  }

  // A shorter look where are_known(), at one word. Returns false if it is one of glibc's and a call
  // on it would not wait; else a whole look says more. Plain loads, since compilers make an
  // instruction more of an atomic one: it is a word, so nothing but its old or new value is read.
  template <bool kReads>
  static bool may_be_taken(const pthread_mutex_t* m) noexcept {
    return (m->__data.__lock & FUTEX_TID_MASK) != 0;  // without the mask, a load and a test
  }
  template <bool kReads>
  static bool may_be_taken(const pthread_rwlock_t* l) noexcept {
    return (l->__data.__readers & (kReads ? kWriteLocked : ~kWritePhase)) != 0;
  }

  // The same where are_known().
  static Look at_known(const pthread_mutex_t* m) noexcept {
    const auto& d = m->__data;
    if ((d.__kind & kNotPlain) != 0) [[unlikely]]
      return at_another_kind(m);
    // One of ours has its contract word where a plain one of glibc's has a 0.
    const int taken = word_at<std::uint64_t>(m, 24) != 0 ? value(d.__owner) : value(d.__lock);
    return taken == 0 ? Look::open : at_taken(m);
  }

  template <bool kReads>
  static Look at_known(const pthread_rwlock_t* l) noexcept {
    const auto contract = word_at<std::uint32_t>(l, 32);
    if ((contract & Process::kStampTop) != 0) return at_ours<kReads>(l, contract);
    // glibc's pthread_rwlock_common.c: as its tryrdlock and trywrlock.
    const unsigned readers = value(l->__data.__readers);
    bool is_open;
    if constexpr (kReads) {
      is_open =
          (readers & kWriteLocked) == 0 || ((readers & kWritePhase) == 0 && !shuts_readers_out(l));
    } else {
      is_open = (readers & kWriteLocked) == 0 &&
                (readers < kReader || ((readers & kWritePhase) != 0 && prefers_writers(l)));
    }
    return is_open ? Look::open : at_taken(l);
  }

 private:
  // glibc's __kind: robust, priorities that are inherited or protected.
  static constexpr int kRobust = 0x10, kInherits = 0x20, kProtects = 0x40;
  static constexpr int kNotPlain = kRobust | kInherits | kProtects;
  // glibc's __readers.
  static constexpr unsigned kWritePhase = 1, kWriteLocked = 2, kReader = 8;

  // relaxed: a racy snapshot.
  template <class T>
  static T value(const T& word) noexcept {
    return __atomic_load_n(&word, __ATOMIC_RELAXED);
  }
  template <class T>
  static T word_at(const void* object, std::size_t offset) noexcept {
    return value(*reinterpret_cast<const T*>(static_cast<const char*>(object) + offset));
  }
  static bool shuts_readers_out(const pthread_rwlock_t* l) noexcept {
    return value(l->__data.__flags) == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
  }
  static bool prefers_writers(const pthread_rwlock_t* l) noexcept {
    return value(l->__data.__flags) != PTHREAD_RWLOCK_PREFER_READER_NP;
  }

  template <bool kReads>
  static Look at_ours(const pthread_rwlock_t* l, std::uint32_t contract) noexcept {
    if (value(l->__data.__cur_writer) != 0) return at_taken(l);
    return kReads && (contract & kDraining) == 0 ? Look::open : Look::unknown;
  }
  // It is the calling thread's own, or it is taken.
  static Look at_taken(const pthread_mutex_t* m) noexcept;
  static Look at_taken(const pthread_rwlock_t* l) noexcept;
  static Look at_another_kind(const pthread_mutex_t* m) noexcept;

  static inline constinit bool are_known_ = false;
};

// Returns whether the functions with a deadline take it. A call without one has a valid one.
inline bool is_valid_deadline() noexcept { return true; }
inline bool is_valid_deadline(const timespec* at) noexcept {
  return at != nullptr && at->tv_nsec >= 0 && at->tv_nsec < 1'000'000'000;
}
inline bool is_valid_deadline(clockid_t clock, const timespec* at) noexcept {
  return (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) && is_valid_deadline(at);
}

}  // namespace lockswap
