// Limits how often a trylock that fails because the lock is reserved is counted: once in kEach per
// word, however often threads try. So a thread that polls takes no lock from one that is about to
// run, and a lock with 15 failed tries has been reserved for more than two tenths of a second.
//
// A table records the time of the last failed try that counted, together with a part of the lock's
// address. Locks that share a cell and are reserved at the same time count more failed tries, never
// fewer, so that tries don't fail for ever.
#pragma once

#include <cstdint>

#include "platform/address_table.h"
#include "platform/atomic.h"
#include "platform/clock.h"

namespace lockswap {

class FailedTries {
 public:
  static constexpr std::uint64_t kEach = 1 << 24;  // nanoseconds: 17 ms

  // Called by a trylock that has found the lock reserved.
  static bool should_count(const void* at) noexcept {
    const std::uint32_t now = mark_of(at);
    // relaxed, both: they affect timing only; if two threads come at once, both may count.
    NativeAtomic<std::uint32_t>& last = cells_[at];
    if (last.load(relaxed) == now) return false;
    last.store(now, relaxed);
    return true;
  }

 private:
  static std::uint32_t mark_of(const void* at) noexcept {
    return static_cast<std::uint32_t>(coarse_monotonic_ns() / kEach) << 16 |
           static_cast<std::uint16_t>(reinterpret_cast<std::uintptr_t>(at) >> 3);
  }

  static inline constinit AddressTable<NativeAtomic<std::uint32_t>> cells_{};
};

}  // namespace lockswap
