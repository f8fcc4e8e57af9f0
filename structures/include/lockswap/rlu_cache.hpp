// A cache database: byte strings by byte strings, in memory, with the structure and the operations
// of Kyoto Cabinet's CacheDB, under Read-Log-Update (rlu.h) in the place of its global lock. C++20.
//
// Paper: Matveev and others, "Read-Log-Update" (SOSP 2015), section 4.8.
// Structure: 16 slots; a slot has buckets, a bucket a search tree of records. The records of a slot
//   are in an order besides, the oldest first: of a slot that is full the oldest is thrown away. If
//   `lru` is on, a record that is used (get, set, add, increment) becomes the newest one.
// Idea: a thread that changes a slot has its writer lock (section 3.8), so that no other one makes
//   it abort; a thread that only reads has no lock at all. With `lru` a get changes the order, and
//   is a writer.
// Deviations from CacheDB: structures/docs/rlu-structures.md.
//
//   lockswap::rlu::cache db({.buckets = 1000, .capacity = 100000});
//   db.set("key", "value");
//   std::string value;
//   if (db.get("key", value)) ...
//
// Thread-safe but for constructor and destructor. Each function is atomic: what it changes others
// see at once, also of several records. What changes something waits until those readers have gone
// that were there before, and is not called in a section: it throws std::system_error there. It
// throws std::bad_alloc if memory is missing, and then nothing has happened.
#pragma once

#include <array>
#include <mutex>
#include <optional>

#include "lockswap/rlu_cache_database.hpp"
#include "lockswap/rlu_chain.hpp"

namespace lockswap::rlu {
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

  // f(), as a section of its own.
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
  // f(), which changes the slots with a bit in `slots`.
  template <class F>
  auto change(unsigned slots, F f) {
    const held locks(*this, slots);
    return update([&](section&) -> std::optional<decltype(f())> {
      try {
        return std::optional<decltype(f())>(std::in_place, f());  // may be an optional itself
      } catch (const again&) {
        return std::nullopt;  // update throws if memory was missing
      }
    });
  }

 private:
  // Memory was missing: the writer locks keep others away from the slots.
  struct again {};

  // Writer locks, in the order of their numbers.
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

using cache = cache_database<detail::cache_sync>;

}  // namespace lockswap::rlu
