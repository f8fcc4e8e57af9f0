// How often tries may doubt that a lock comes to the thread that it is kept for: once in kEach at a
// word, however often threads try. So a thread that polls takes no lock from one that is about to
// run, and a lock with 15 doubts has been kept for more than two tenths of a second.
//
// The last time stands in a table by the word's address, beside a part of that. Locks with one cell
// that are kept at the same time count more doubts, never fewer: no try is turned back for ever.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/by_address.h"
#include "platform/clock.h"

namespace lockswap {

class Doubts {
 public:
  static constexpr std::uint64_t kEach = 1 << 24;  // nanoseconds: 17 ms

  // A try has found the lock kept: does that count?
  static bool counts(const void* at) noexcept {
    const std::uint32_t now = mark_of(at);
    // relaxed, both: they decide nothing but times; of two threads both may count.
    NativeAtomic<std::uint32_t>& last = cells_[by_address(at, kCells)];
    if (last.load(relaxed) == now) return false;
    last.store(now, relaxed);
    return true;
  }

 private:
  static constexpr std::size_t kCells = 1024;

  static std::uint32_t mark_of(const void* at) noexcept {
    return static_cast<std::uint32_t>(coarse_monotonic_ns() / kEach) << 16 |
           static_cast<std::uint16_t>(reinterpret_cast<std::uintptr_t>(at) >> 3);
  }

  static inline constinit std::array<NativeAtomic<std::uint32_t>, kCells> cells_{};
};

}  // namespace lockswap
