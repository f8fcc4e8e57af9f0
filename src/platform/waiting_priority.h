// The real-time priorities of writers that wait for readers: readers of such policies don't pass a
// writer of an equal or a higher one (posix/guests.h, locks/rw/eventual.h). A reader-writer lock
// has no room for a priority. It has a flag that says whether there is one to be found here, so
// threads of other policies never come here.
//
// A table by the lock's address. Two locks may share a cell, and then the later writer's priority
// stands there. What two threads write at once may be lost. Either way a reader comes in after its
// patience, as if the writer had no such policy.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/by_address.h"

namespace lockswap {

class WaitingPriority {
 public:
  // By a writer that waits. keep_higher: other writers wait, too.
  static void note(const void* lock, std::uint32_t priority, bool keep_higher) noexcept {
    if (keep_higher && of(lock) >= priority) return;
    // relaxed, here and below: it decides only in which order threads come in.
    cell_of(lock).store(key_of(lock) | priority, relaxed);
  }
  // 0: none is known.
  static std::uint32_t of(const void* lock) noexcept {
    const std::uint64_t v = cell_of(lock).load(relaxed);
    return (v & ~kPriority) == key_of(lock) ? static_cast<std::uint32_t>(v & kPriority) : 0;
  }

 private:
  using Cell = NativeAtomic<std::uint64_t>;
  static constexpr std::size_t kCells = 256;
  static constexpr std::uint64_t kPriority = 127;  // an address has less than 58 bits
  static std::uint64_t key_of(const void* lock) noexcept {
    return std::uint64_t{reinterpret_cast<std::uintptr_t>(lock)} << 7;
  }
  static Cell& cell_of(const void* lock) noexcept { return cells_[by_address(lock, kCells)]; }

  static inline constinit std::array<Cell, kCells> cells_{};
};

}  // namespace lockswap
