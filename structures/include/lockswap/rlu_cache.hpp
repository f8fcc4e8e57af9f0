/// @file
/// A cache database in memory, which maps byte strings to byte strings. It has the structure and
/// the operations of Kyoto Cabinet's CacheDB, with Read-Log-Update (rlu.h) in place of its global
/// lock. C++20.
///
/// Paper: Matveev and others, "Read-Log-Update" (SOSP 2015), section 4.8.
///
/// Structure: 16 slots. Each slot has buckets, and each bucket a search tree of records. The
///   records of a slot are also in an order, the oldest first, and a full slot evicts its oldest
///   record. If `lru` is on, a record that is used (get, set, add, increment) becomes the newest.
///
/// Idea: a thread that changes a slot holds its writer lock (section 3.8), so that no other thread
///   makes it abort. A thread that only reads holds no lock. With `lru` a get changes the order, so
///   it is a writer.
///
/// Deviations from CacheDB: a value is an object of its own that never changes, and `set` replaces
///   it, so commits copy no values. A removed record with two children is replaced by the leftmost
///   one on its right, in CacheDB by the rightmost one on its left. `for_each` only reads, and sees
///   one state of all slots. There are no cursors, transactions, compression or size limit, and
///   `increment` stores a number in the machine's byte order.
///
///     lockswap::rlu::cache db({.buckets = 1000, .capacity = 100000});
///     db.set("key", "value");
///     std::string value;
///     if (db.get("key", value)) ...
///
/// Thread-safe, except for the constructor and destructor. Each function is atomic: other threads
/// see all its changes at once, even of several records. Functions that change something wait for
/// readers that began before, and must not be called in a section, where they throw
/// std::system_error. They throw std::bad_alloc if there is no memory, and then nothing has
/// happened.
#pragma once

#include <array>
#include <mutex>
#include <optional>

#include "lockswap/rlu_cache_database.hpp"
#include "lockswap/rlu_chain.hpp"

namespace lockswap::rlu {
/// @cond private
namespace detail {

class cache_sync {
 public:
  template <class T>
  using link = rlu::link<T>;
  template <class T>
  using embedded = rlu::embedded<T>;

  template <class T>
  static T* see(T* p) noexcept {
    return dereference(p);
  }
  template <class T>
  static void own(T*& p) {
    auto* const copy = static_cast<T*>(lockswap_rlu_try_lock(p));
    if (copy == nullptr) throw again();
    p = copy;
  }
  template <class T>
  static bool same(const T* a, const T* b) noexcept {
    return rlu::same(a, b);
  }
  static void* allocate(std::size_t size) {
    void* const memory = lockswap_rlu_alloc(size);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
  static void discard(void* p) noexcept { rlu::discard(p); }
  static void retire(void* p) {
    if (lockswap_rlu_free(p) != 0) throw again();
  }

  // Calls f() in its own section.
  template <class F>
  static auto look(unsigned, F f) {
    const reading here;
    return f();
  }
  template <class F>
  static auto look_at_all(F f) {
    const reading here;
    return f();
  }
  // Calls f(), which changes the slots whose bit is set in `slots`.
  template <class F>
  auto change(unsigned slots, F f) {
    const held locks(*this, slots);
    return update([&](section&) -> std::optional<decltype(f())> {
      try {
        return std::optional<decltype(f())>(std::in_place, f());  // may be an optional itself
      } catch (const again&) {
        return std::nullopt;  // update throws if there was no memory
      }
    });
  }

 private:
  // There was no memory. The writer locks keep other threads away from the slots.
  struct again {};

  // Writer locks, held in the order of their numbers.
  class held {
   public:
    held(cache_sync& of, unsigned slots) : of_(of) {
      try {
        for (unsigned i = 0; i < kCacheSlots; ++i) {
          if ((slots >> i & 1) == 0) continue;
          of_.locks_[i].lock();
          slots_ |= 1u << i;
        }
      } catch (...) {
        release();
        throw;
      }
    }
    ~held() { release(); }
    held(const held&) = delete;
    held& operator=(const held&) = delete;

   private:
    void release() noexcept {
      for (unsigned i = 0; i < kCacheSlots; ++i) {
        if ((slots_ >> i & 1) != 0) of_.locks_[i].unlock();
      }
    }
    cache_sync& of_;
    unsigned slots_ = 0;
  };
  struct alignas(64) slot_lock : writer_lock {};
  std::array<slot_lock, kCacheSlots> locks_;
};

}  // namespace detail
/// @endcond

/// The cache database under Read-Log-Update.
using cache = cache_database<detail::cache_sync>;

}  // namespace lockswap::rlu
