// Tells whether a call on a lock has to wait, as far as that can be read from the lock.
//
// For observers, which then make the program's own call. A trylock instead would be another call:
// it returns something else for robust mutexes and invalid deadlines, and libraries that the
// observer calls, such as a sanitizer, would see a trylock.
// A look is a racy snapshot, which may be outdated at once. It reads glibc's words as the
// experiments of prepare() found them. Of our own locks it reads the state word, and the owner's or
// the writer's id, which lies where glibc has it.
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
  taken,   // the call has to wait
  unknown  // the lock's words don't tell
};

class Looks {
 public:
  // The bit of our state word that says that a writer waits for readers. registry/lock_checks.cpp
  // compares it with posix/rw_word.h, which this layer may not include.
  static constexpr std::uint32_t kDraining = 8;

  // Must be called at start-up, when libc_functions is filled in. Unless the experiments confirm
  // the known layout of glibc's objects, each look remains `unknown`.
  static void prepare() noexcept;
  static bool are_known() noexcept { return are_known_; }

  static Look at(const pthread_mutex_t* m) noexcept {
    return are_known_ ? at_known(m) : Look::unknown;
  }
  template <bool kReads>
  static Look at(const pthread_rwlock_t* l) noexcept {
    return are_known_ ? at_known<kReads>(l) : Look::unknown;
  }

  // A quicker check of one word, if are_known(). Returns false if the lock is glibc's and a call on
  // it would not wait; otherwise a full look tells more. Uses plain loads, since compilers emit one
  // more instruction for an atomic one; of an aligned word these read the old or the new value.
  template <bool kReads>
  static bool may_be_taken(const pthread_mutex_t* m) noexcept {
    return (m->__data.__lock & FUTEX_TID_MASK) != 0;  // without the mask, a load and a test
  }
  template <bool kReads>
  static bool may_be_taken(const pthread_rwlock_t* l) noexcept {
    return (l->__data.__readers & (kReads ? kWriteLocked : ~kWritePhase)) != 0;
  }

  // The same as at(), if are_known().
  static Look at_known(const pthread_mutex_t* m) noexcept {
    const auto& d = m->__data;
    if ((d.__kind & kNotPlain) != 0) [[unlikely]]
      return at_another_kind(m);
    // Our mutexes have their state word where a plain one of glibc's has a 0.
    const int taken = word_at<std::uint64_t>(m, 24) != 0 ? value(d.__owner) : value(d.__lock);
    return taken == 0 ? Look::open : at_taken(m);
  }

  template <bool kReads>
  static Look at_known(const pthread_rwlock_t* l) noexcept {
    const auto contract = word_at<std::uint32_t>(l, 32);
    if ((contract & Process::kStampTop) != 0) return at_ours<kReads>(l, contract);
    // As tryrdlock and trywrlock in glibc's pthread_rwlock_common.c.
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
  // Bits of glibc's __kind: robust, priority inheritance, priority protection.
  static constexpr int kRobust = 0x10, kInherits = 0x20, kProtects = 0x40;
  static constexpr int kNotPlain = kRobust | kInherits | kProtects;
  // Bits of glibc's __readers.
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
  // For a lock that is taken, perhaps by the calling thread itself.
  static Look at_taken(const pthread_mutex_t* m) noexcept;
  static Look at_taken(const pthread_rwlock_t* l) noexcept;
  static Look at_another_kind(const pthread_mutex_t* m) noexcept;

  static inline constinit bool are_known_ = false;
};

// Returns whether the functions with a deadline accept it. No deadline counts as a valid one.
inline bool is_valid_deadline() noexcept { return true; }
inline bool is_valid_deadline(const timespec* at) noexcept {
  return at != nullptr && at->tv_nsec >= 0 && at->tv_nsec < 1'000'000'000;
}
inline bool is_valid_deadline(clockid_t clock, const timespec* at) noexcept {
  return (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) && is_valid_deadline(at);
}

}  // namespace lockswap
