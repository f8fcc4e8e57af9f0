// The book: which locks exist, which threads hold them and which threads wait. It is a sharded hash
// table from a lock's address to its entry, and each shard has its own guard.
//
// An entry stays until its lock is destroyed or initialised again, so the book does not outgrow the
// locks in use. Its memory comes from the kernel and is reused, but never returned.
#pragma once

#include <cstddef>
#include <cstdint>

#include "audit/address.h"
#include "audit/guard.h"
#include "audit/me.h"

namespace lockswap::audit {

// All holds that one thread has of one lock.
struct Hold {
  Hold* next{};
  std::uint64_t serial{};    // the thread's
  ThreadRecord* record{};    // nullptr if it has none; may be another thread's by now
  std::uint64_t since{};     // in Ticks; when the first was taken
  std::uint64_t site{};      // where the first was taken
  std::uint32_t stack{};     // at that site
  std::uint64_t waits_at{};  // where the thread waits for other threads; 0 if it does not
  std::uint32_t tid{};
  std::uint32_t reads{};
  std::uint32_t writes{};  // 0 or 1
  bool ended{};            // its thread has ended, and that is noted
};

struct LockEntry {
  LockEntry* next{};
  std::uint64_t address{};
  std::uint64_t number{};  // unique, even if another lock is at this address later
  Hold* holds{};
  std::uint32_t waiting_readers{};  // in a blocking or timed call that has not returned
  std::uint32_t waiting_writers{};
  std::uint64_t passed{};       // reads that began while a writer waited
  std::uint64_t awaited{};      // in Ticks; since when the first of the writers has waited
  std::uint64_t let_go{};       // in Ticks; when a read ended that had begun before
  std::uint64_t writer_site{};  // where a writer that had to wait was last called
  std::uint32_t kind{};
  std::uint32_t shared{};
  bool is_mutex{};         // a mutex that was held together with others; glibc has its owner
  std::uint32_t known{1};  // 0: a thread that is not in the book may hold it
  bool is_in_shared{};     // in memory that other processes may share
  bool was_destroyed{};    // while in use: what its users do afterwards is not reported again
};

class Shard {
 public:
  Guard guard;

  // All of these must be called with the guard held.
  LockEntry* find(std::uint64_t address) noexcept;
  LockEntry* add(std::uint64_t address) noexcept;  // a new entry; nullptr if there is no memory
  void remove(std::uint64_t address) noexcept;     // and its holds, if it is there

  static Hold* hold_of(LockEntry& lock, std::uint64_t serial) noexcept;
  // Adds a hold that began at `since`. Returns nullptr if there is no memory.
  Hold* add_hold(LockEntry& lock, const Me& m, std::uint64_t since, std::uint64_t site,
                 std::uint32_t stack) noexcept;
  // Also decrements the thread's number of holds.
  void remove_hold(LockEntry& lock, Hold* hold) noexcept;
  void remove_holds(LockEntry& lock) noexcept;

  void wait(std::uint32_t& waiting) noexcept {
    ++waiting;
    ++waiters_;
  }
  void stop_waiting(std::uint32_t& waiting) noexcept {
    if (waiting == 0) return;  // the lock was destroyed meanwhile, so this entry is new
    --waiting;
    --waiters_;
  }

  bool is_idle() const noexcept { return holds_ == 0 && waiters_ == 0; }
  // visit(LockEntry&) for every lock.
  template <class Visit>
  void each(Visit visit) noexcept {
    for (std::size_t i = 0; i < buckets_; ++i) {
      for (LockEntry* l = bucket_[i]; l != nullptr; l = l->next)
        visit(*l);
    }
  }

 private:
  LockEntry** place_of(std::uint64_t address) noexcept;
  bool grow() noexcept;
  void* take(std::size_t bytes) noexcept;

  LockEntry** bucket_{};
  std::size_t buckets_{};  // a power of two, or 0
  std::size_t locks_{};
  std::uint64_t holds_{};
  std::uint64_t waiters_{};
  LockEntry* free_locks_{};
  Hold* free_holds_{};
  char* chunk_{};
  std::size_t left_{};  // bytes in the chunk
};

inline constexpr std::size_t kShards = 64;

Shard& shard_of(std::uint64_t address) noexcept;
inline Shard& shard_of(const void* lock) noexcept { return shard_of(address_of(lock)); }

// Returns whether the lock with this number is still at this address.
bool is_in_book(std::uint64_t address, std::uint64_t number) noexcept;

// Calls visit(LockEntry&, Hold&), with the guard held, if the thread with this serial number still
// has this hold of a rwlock. Returns whether it has.
template <class Visit>
bool visit_hold(const HeldLock& held, std::uint64_t serial, Visit visit) noexcept {
  Shard& shard = shard_of(held.address);
  const Section section(shard.guard);
  LockEntry* const entry = shard.find(held.address);
  if (entry == nullptr || entry->number != held.number) return false;
  Hold* const hold = Shard::hold_of(*entry, serial);
  if (hold == nullptr) return false;
  visit(*entry, *hold);
  return true;
}
inline bool is_still_held(const HeldLock& held, std::uint64_t serial) noexcept {
  return visit_hold(held, serial, [](const LockEntry&, const Hold&) {});
}

// Returns a mutex's number, or 0 if there is no memory.
std::uint64_t number_of_mutex(std::uint64_t address) noexcept;
// Called when the mutex begins or ends.
void forget_mutex(std::uint64_t address) noexcept;

// Returns the number for a lock that is new, or has replaced another one.
std::uint64_t new_lock_number() noexcept;

}  // namespace lockswap::audit
