// Where the program has mapped memory that other processes may share. The audit looks up the
// mapping of a lock only there, so a program without such memory pays for one load a call.
#pragma once

#include <algorithm>
#include <cstdint>

#include "platform/atomic.h"

namespace lockswap::audit {

// Ranges are only added, and grow once there are many, so they also contain memory that was
// unmapped or never shared. Lock-free, because a forked child inherits them in any state.
class SharedRanges {
 public:
  [[gnu::always_inline]] bool contains(std::uint64_t address) const noexcept {
    // relaxed, all: the program orders the call that maps memory before its use
    const std::uint32_t count = std::min(count_.load(relaxed), kMost);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (range_[i].begin.load(relaxed) <= address && address < range_[i].end.load(relaxed))
        return true;
    }
    return false;
  }

  void add(std::uint64_t begin, std::uint64_t end) noexcept {
    Range* const nearest = nearest_to(begin, end);
    const bool touches = nearest != nullptr && nearest->growth(begin, end) <= end - begin;
    if (!touches && count_.load(relaxed) < kMost) {
      if (const std::uint32_t n = count_.fetch_add(1, relaxed); n < kMost) {
        range_[n].begin.store(begin, relaxed);
        range_[n].end.store(end, relaxed);  // empty until then
        return;
      }
    }
    nearest_to(begin, end)->widen(begin, end);
  }

 private:
  static constexpr std::uint32_t kMost = 64;
  struct Range {
    NativeAtomic<std::uint64_t> begin, end;

    // Returns by how many bytes it would grow.
    std::uint64_t growth(std::uint64_t b, std::uint64_t e) const noexcept {
      const std::uint64_t begins = begin.load(relaxed), ends = end.load(relaxed);
      return (b < begins ? begins - b : 0) + (e > ends ? e - ends : 0);
    }
    void widen(std::uint64_t b, std::uint64_t e) noexcept {
      std::uint64_t seen = begin.load(relaxed);
      while (b < seen && !begin.compare_exchange(seen, b, relaxed)) {}
      seen = end.load(relaxed);
      while (e > seen && !end.compare_exchange(seen, e, relaxed)) {}
    }
  };

  // Returns nullptr if there is none.
  Range* nearest_to(std::uint64_t b, std::uint64_t e) noexcept {
    Range* const past = range_ + std::min(count_.load(relaxed), kMost);
    Range* const nearest = std::min_element(range_, past, [=](const Range& x, const Range& y) {
      return x.growth(b, e) < y.growth(b, e);
    });
    return nearest == past ? nullptr : nearest;
  }

  NativeAtomic<std::uint32_t> count_{};
  Range range_[kMost]{};
};

}  // namespace lockswap::audit
