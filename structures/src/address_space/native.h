// The real machine for an address space: pthread locks, which lockswap may swap, and range locks.
#pragma once

#include <cstdint>
#include <pthread.h>
#include <sched.h>

#include "lockswap/quiescence.hpp"
#include "lockswap/range_lock.hpp"
#include "platform/batches.h"

namespace lockswap::address_space {

struct NativeMachine : real_machine {
  static constexpr int kLevels = 4;
  static constexpr int kTableBits = 9;
  static constexpr std::size_t kGarbage = 64;  // freed after one grace period together

  // Frames of small pages come from the thread's own free lists, like a kernel's from the
  // processor's page lists. So do nodes of the regions' tree, each in its own cache line. The rest,
  // which is rare, comes from the heap.
  template <class T>
  static constexpr bool kIsOverAligned = alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__;
  template <class T>
  static constexpr bool kIsListed = sizeof(T) <= 64 && !kIsOverAligned<T>;
  template <class T>
  using Pieces = Batches<sizeof(T) <= 16 ? 16 : 64>;
  template <class T>
  static void* take() {
    if constexpr (kIsListed<T>) {
      return Pieces<T>::take();
    } else {
      return real_machine::take<T>();
    }
  }
  template <class T>
  static void give(void* p) {
    if constexpr (kIsListed<T>) {
      Pieces<T>::give(p);
    } else {
      real_machine::give<T>(p);
    }
  }

  class Lock {
   public:
    void lock() { pthread_mutex_lock(&mutex_); }
    void unlock() { pthread_mutex_unlock(&mutex_); }

   private:
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  };
  class RwLock {
   public:
    void lock() { pthread_rwlock_wrlock(&lock_); }
    void unlock() { pthread_rwlock_unlock(&lock_); }
    void lock_shared() { pthread_rwlock_rdlock(&lock_); }
    void unlock_shared() { pthread_rwlock_unlock(&lock_); }

   private:
    pthread_rwlock_t lock_ = PTHREAD_RWLOCK_INITIALIZER;
  };
  // Named by what they protect, for measurements that distinguish them.
  using ChangeLock = Lock;   // for operations, if faults have another one
  using IndexLock = RwLock;  // for the regions' tree alone
  struct ListLock : range_lock {
    ListLock() : range_lock("list-rw") {}
  };
  struct TreeLock : range_lock {
    TreeLock() : range_lock("kernel-rw") {}
  };
  class Range {
   public:
    Range(range_lock& lock, std::uint64_t start, std::uint64_t end, bool shared)
        : held_(shared ? lock.shared(start, end) : lock.exclusive(start, end)) {}

   private:
    held_range held_;
  };
  template <class Word>
  static void take_when_zero(Word& word, std::uint64_t value) {
    for (std::uint64_t zero = 0; !word.compare_exchange(zero, value, std::memory_order_acquire);
         zero = 0)
      sched_yield();
  }
};

}  // namespace lockswap::address_space
