// The book: which locks there are, which threads hold them and which wait. It is a table from a
// lock's address to its entry, in shards; each shard has a guard of its own.
//
// An entry stays until its lock is destroyed or initialised again, so the book grows with the locks
// in use and no further. Memory comes from the kernel and is reused, never given back.
#pragma once

#include <cstddef>
#include <cstdint>

#include "audit/address.h"
#include "audit/guard.h"
#include "audit/me.h"

namespace lockswap::audit {

// One thread's holds of one lock.
struct Hold {
  Hold* next{};
  std::uint64_t serial{};    // of the thread
  ThreadRecord* record{};    // may be nullptr, or another thread's by now
  std::uint64_t since{};     // in Ticks, of the first of them
  std::uint64_t site{};      // where the first was taken
  std::uint32_t stack{};     // there
  std::uint64_t waits_at{};  // while its thread waits for other threads: where; 0 = it does not
  std::uint32_t tid{};
  std::uint32_t reads{};
  std::uint32_t writes{};  // 0 or 1
  bool ended{};            // its thread has, which is noted
};

struct LockEntry {
  LockEntry* next{};
  std::uint64_t address{};
  std::uint64_t number{};  // of this lock alone, also if another one is at this address later
  Hold* holds{};
  std::uint32_t waiting_readers{};  // in a blocking or timed call that has not returned
  std::uint32_t waiting_writers{};
  std::uint64_t passed{};       // reads that began while a writer waited
  std::uint64_t awaited{};      // in Ticks: since when the first of the writers waits
  std::uint64_t let_go{};       // in Ticks: when a read ended that had begun before
  std::uint64_t writer_site{};  // where a writer last asked and was to wait
  std::uint32_t kind{};
  std::uint32_t shared{};
  bool is_mutex{};         // one that was held together with others; glibc knows its owner
  std::uint32_t known{1};  // 0: a thread may hold it that is not in the book
  bool was_destroyed{};    // in use: what its users do from then on is no fault of its own
};

class Shard {
 public:
  Guard guard;

  // All of these are called with the guard held.
  LockEntry* find(std::uint64_t address) noexcept;
  LockEntry* add(std::uint64_t address) noexcept;  // a new entry; nullptr if there is no memory
  void remove(std::uint64_t address) noexcept;     // with its holds, if it is there

  static Hold* hold_of(LockEntry& lock, std::uint64_t serial) noexcept;
  // A new hold, from `since` on; nullptr if there is no memory.
  Hold* add_hold(LockEntry& lock, const Me& m, std::uint64_t since, std::uint64_t site,
                 std::uint32_t stack) noexcept;
  // The thread's count of holds becomes smaller as well.
  void remove_hold(LockEntry& lock, Hold* hold) noexcept;
  void remove_holds(LockEntry& lock) noexcept;

  void wait(std::uint32_t& waiting) noexcept {
    ++waiting;
    ++waiters_;
  }
  void stop_waiting(std::uint32_t& waiting) noexcept {
    if (waiting == 0) return;  // the entry is a new one: its lock was destroyed meanwhile
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

// Returns whether the lock of this number is still at this address.
bool is_in_book(std::uint64_t address, std::uint64_t number) noexcept;

// Calls visit(LockEntry&, Hold&), with the guard held, if the thread of this serial number still
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

// A mutex's number; 0: no memory.
std::uint64_t number_of_mutex(std::uint64_t address) noexcept;
// It begins or ends.
void forget_mutex(std::uint64_t address) noexcept;

// For a lock that is seen for the first time, or was replaced by another.
std::uint64_t new_lock_number() noexcept;

}  // namespace lockswap::audit
