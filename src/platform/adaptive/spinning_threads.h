// Limits how many threads of the process spin for a long time: to the processors that are left
// when the thread that they wait for has one.
#pragma once

#include <algorithm>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/process.h"
#include "platform/processors.h"

namespace lockswap {

class SpinningThreads {
 public:
  // May be called by any thread, one at a time. relaxed: it does not matter whether threads that
  // spin meanwhile use the old or the new value.
  static void adapt(const Processors& p) noexcept {
    beside_.store(std::max<std::uint32_t>(p.whole(), 2) - 1, relaxed);
  }

  // Returns false if enough threads spin already; otherwise the thread must leave() later. All
  // relaxed: nothing is published by it.
  static bool enter() noexcept {
    const std::uint64_t mark = Process::mark() & ~kCount;
    std::uint64_t v = spinning_.load(relaxed);
    do {
      if (count_in(v, mark) >= beside_.load(relaxed)) return false;
    } while (!spinning_.compare_exchange(v, mark | (count_in(v, mark) + 1), relaxed));
    return true;
  }
  static void leave() noexcept {
    const std::uint64_t mark = Process::mark() & ~kCount;
    std::uint64_t v = spinning_.load(relaxed);
    while (count_in(v, mark) != 0 && !spinning_.compare_exchange(v, v - 1, relaxed)) {}
  }

  // For tests: returns how many threads spin.
  static std::uint32_t count() noexcept {
    return count_in(spinning_.load(relaxed), Process::mark() & ~kCount);
  }

 private:
  // The count is in the bits below the mark of the process, so that a child begins with none.
  static constexpr std::uint64_t kCount = (1u << 16) - 1;
  static std::uint32_t count_in(std::uint64_t v, std::uint64_t mark) noexcept {
    return (v & ~kCount) == mark ? static_cast<std::uint32_t>(v & kCount) : 0;
  }

  static inline constinit NativeAtomic<std::uint32_t> beside_{1};
  alignas(64) static inline constinit NativeAtomic<std::uint64_t> spinning_{};
};

}  // namespace lockswap
