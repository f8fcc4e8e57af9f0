// The real-time priorities of writers that wait for readers: a reader with a real-time policy
// doesn't pass a waiting writer of the same or a higher priority (posix/guests.h,
// locks/rw/eventual_readers.h). A reader-writer lock has no room for a priority, only for a flag
// which says that it is noted here. Threads without such a policy never check.
//
// The table is indexed by the lock's address. Two locks may share a cell, which then has the later
// writer's priority, and if two threads store at once, one store is lost. In both cases a reader
// bypasses the writer after its timeout, as if the writer had no such policy.
#pragma once

#include <cstdint>

#include "platform/address_table.h"
#include "platform/atomic.h"

namespace lockswap {

class WaitingPriority {
 public:
  // Called by a writer that waits. keep_higher says that other writers wait, too.
  static void note(const void* lock, std::uint32_t priority, bool keep_higher) noexcept {
    if (keep_higher && of(lock) >= priority) return;
    // relaxed, here and below: it only affects the order in which threads acquire the lock.
    cells_[lock].store(key_of(lock) | priority, relaxed);
  }
  // Returns 0 if none is known.
  static std::uint32_t of(const void* lock) noexcept {
    const std::uint64_t v = cells_[lock].load(relaxed);
    return (v & ~kPriority) == key_of(lock) ? static_cast<std::uint32_t>(v & kPriority) : 0;
  }

 private:
  using Cell = NativeAtomic<std::uint64_t>;
  static constexpr std::uint64_t kPriority = 127;  // an address has less than 58 bits
  static std::uint64_t key_of(const void* lock) noexcept {
    return std::uint64_t{reinterpret_cast<std::uintptr_t>(lock)} << 7;
  }

  static inline constinit AddressTable<Cell, 256> cells_{};
};

}  // namespace lockswap
