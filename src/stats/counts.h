// The counters of each lock, which stats.cpp increments and stats_report.cpp reads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "locks/common/events.h"
#include "platform/atomic.h"

namespace lockswap {

inline constexpr std::size_t kEvents = static_cast<std::size_t>(Event::kCount);
inline constexpr std::size_t kLocks = 1 << 16;  // in a table of locks; the last one is "others"

// All words are atomics, because a report reads what running threads write.
struct Counts {
  NativeAtomic<std::uint64_t> key;  // the lock's address; 0 = free
  NativeAtomic<std::uint64_t> n[kEvents];

  void add(Event e, std::uint64_t by) noexcept {
    n[static_cast<std::size_t>(e)].fetch_add(by, relaxed);
  }
  std::uint64_t get(Event e) const noexcept { return n[static_cast<std::size_t>(e)].load(relaxed); }
};

// Returns a table of kLocks entries with all that has been counted so far, which the caller must
// free. Returns nullptr if there is no memory, or if nothing is counted. Changes no count, so it
// may be called at any time, even while other threads lock, and in signal handlers. Takes some
// milliseconds.
Counts* take_counts() noexcept;
void give_back(Counts* table) noexcept;

}  // namespace lockswap
