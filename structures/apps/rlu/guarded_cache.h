// The cache database of lockswap/rlu_cache.hpp under one global rwlock or mutex: under lockswap,
// any lock of its registry.
#pragma once

#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>

#include "lockswap/rlu_cache_database.hpp"
#include "rlu/guarded_sets.h"

namespace bench {

// How an operation that changes a record takes the global lock.
enum class SetTakes {
  exclusive,  // as the paper describes it; a get takes no slot's mutex, which it need not
  shared,     // as the shipped CacheDB does: then each operation takes the mutex of its slot
};

template <SetTakes kSet, class Lock>
class GuardedSync {
 public:
  template <class T>
  class link {
   public:
    link() = default;
    link(T* p) : to_(p) {}  // NOLINT(google-explicit-constructor): as a pointer
    T* read() const { return to_; }
    T* get() const { return to_; }

   private:
    T* to_ = nullptr;
  };
  template <class T>
  class embedded {
   public:
    T* get() { return &object_; }

   private:
    T object_{};
  };

  template <class T>
  static T* see(T* p) {
    return p;
  }
  template <class T>
  static void own(T*&) {}
  template <class T>
  static bool same(const T* a, const T* b) {
    return a == b;
  }
  static void* allocate(std::size_t size) {
    void* const memory = std::calloc(1, size);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
  static void discard(void* p) { std::free(p); }
  static void retire(void* p) { std::free(p); }

  template <class F>
  auto look(unsigned slot, F f) {
    const Shared here(global_);
    if constexpr (kSet == SetTakes::exclusive) return f();
    const std::lock_guard<std::mutex> in(slots_[slot].lock);
    return f();
  }
  template <class F>
  auto look_at_all(F f) {
    if constexpr (kSet == SetTakes::exclusive) {
      const Shared here(global_);
      return f();
    } else {
      const Alone here(global_);
      return f();
    }
  }
  template <class F>
  auto change(unsigned slots, F f) {
    if constexpr (kSet == SetTakes::shared) {
      if (std::has_single_bit(slots)) {
        const Shared here(global_);
        const std::lock_guard<std::mutex> in(slots_[std::countr_zero(slots)].lock);
        return f();
      }
    }
    const Alone here(global_);
    return f();
  }

 private:
  struct alignas(64) Slot {
    std::mutex lock;
  };
  Lock global_;
  Slot slots_[lockswap::rlu::detail::kCacheSlots];
};

template <SetTakes kSet, class Lock = Rwlock>
using GuardedCache = lockswap::rlu::cache_database<GuardedSync<kSet, Lock>>;

}  // namespace bench
